package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// LedgerReader reads the cloud's ledger.
type LedgerReader interface {
	Ledger(ctx context.Context, query cloud.LedgerQuery) ([]cloud.LedgerEntry, error)
}

// Ledger follows the cloud's ledger.
type Ledger struct {
	Cloud LedgerReader
	// Started is when the run was started, by the same clock as the ledger's.
	Started time.Time
	// After is the number of the last entry that is not of interest, or has been recorded.
	After int64
}

var _ Probe = &Ledger{}

// Name of the probe.
func (l *Ledger) Name() string { return timeline.CloudLedger }

// Pace is twice a second.
func (l *Ledger) Pace() Pace {
	return Pace{Every: 500 * time.Millisecond, Timeout: 3 * time.Second, Overlap: 1}
}

// Sample reads what is new.
func (l *Ledger) Sample(ctx context.Context, to timeline.Recorder) error {
	entries, err := l.Cloud.Ledger(ctx, cloud.LedgerQuery{After: l.After})
	for _, entry := range entries {
		l.After = entry.Seq
		to.Record(timeline.Event{Actor: entry.Identity, Subject: entry.Shoot, Payload: timeline.CloudCalled{
			Number: entry.Seq, Epoch: entry.Epoch, Verb: entry.Verb, What: entry.Kind, ID: entry.ID, Name: entry.Name,
			Values: valuesOf(entry), Outcome: entry.Outcome, Took: entry.Took(), Fault: entry.Fault,
			Made: max(timeline.Moment(entry.Time.Sub(l.Started)), 1), // what is of before the run counts as its beginning
		}})
	}
	if err != nil {
		return fmt.Errorf("read the ledger behind entry %d: %w", l.After, err)
	}
	return nil
}

// valuesOf a record set that was written, or for what a volume was made; none if the entry is about something else.
func valuesOf(entry cloud.LedgerEntry) []string {
	object := struct {
		Values []string          `json:"values"`
		Tags   map[string]string `json:"tags"`
	}{}
	if len(entry.Object) == 0 || json.Unmarshal(entry.Object, &object) != nil {
		return nil
	}
	switch entry.Kind {
	case cloud.KindRecords:
		return object.Values
	case cloud.KindVolumes:
		return slices.DeleteFunc([]string{object.Tags[cloud.TagFor]}, func(text string) bool { return text == "" })
	}
	return nil
}
