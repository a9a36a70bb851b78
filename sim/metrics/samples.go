package metrics

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/transplant-sim/transplant/sim/durable"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// FileName of a run's samples in its folder: OpenMetrics, with timestamps.
const FileName = "metrics.om"

// Bounds of the samples of one run: not closer than finest, and about mostSamples of a series.
const (
	finest      = time.Second
	mostSamples = 100
)

// RunName is a name that no other run has: its scenario, and when it was started.
func RunName(scenario string, started time.Time) string {
	return scenario + "-" + started.UTC().Format("20060102T150405Z")
}

// WriteFolder writes the samples of the run in a folder into it.
func WriteFolder(folder string, judged *verdict.Report) error {
	record, err := timeline.ReadFile(filepath.Join(folder, timeline.FileName))
	if err != nil {
		return err
	}
	return durable.Disk{}.Write(folder, durable.File{Name: FileName, Write: func(file io.Writer) error {
		out := bufio.NewWriter(file)
		return errors.Join(WriteSamples(out, record, judged), out.Flush())
	}})
}

// WriteSamples replays a run. It writes what would have been scraped while the run went on, and the verdict at its end.
func WriteSamples(out io.Writer, record *timeline.Record, judged *verdict.Report) error {
	_, start, found := timeline.First[timeline.RunStarted](record.Events)
	if !found {
		return verdict.ErrNoRun
	}
	meter, err := NewMeter(RunName(start.Scenario, record.Started), start)
	if err != nil {
		return err
	}
	last := record.Events[len(record.Events)-1].At
	every := max(finest, (last / mostSamples).Round(finest))
	s := samples{meter: meter, started: record.Started, families: map[string]*dto.MetricFamily{}}
	for next, i := time.Duration(0), 0; i < len(record.Events); next += every {
		for ; i < len(record.Events) && record.Events[i].At <= next; i++ {
			meter.Take(record.Events[i])
		}
		if next.Milliseconds() < last.Milliseconds() { // the format's times have no more than that, and none twice
			if err := s.scrape(next); err != nil {
				return err
			}
		}
	}
	if judged != nil {
		meter.Judged(judged)
	}
	if err := s.scrape(last); err != nil {
		return err
	}
	return s.write(out)
}

// samples of a run, by family.
type samples struct {
	meter    *Meter
	started  time.Time
	families map[string]*dto.MetricFamily
}

func (s *samples) scrape(at time.Duration) error {
	gathered, err := s.meter.Gatherer().Gather()
	if err != nil {
		return fmt.Errorf("gather the metrics at %s: %w", at, err)
	}
	moment := s.started.Add(at).UnixMilli()
	for _, family := range gathered {
		all := s.families[family.GetName()]
		if all == nil {
			all = &dto.MetricFamily{Name: family.Name, Help: family.Help, Type: family.Type}
			s.families[family.GetName()] = all
		}
		for _, m := range family.GetMetric() {
			m.TimestampMs = &moment
			all.Metric = append(all.Metric, m)
		}
	}
	return nil
}

// write each series by itself and in the order of time, as the format wants it.
func (s *samples) write(out io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(s.families)) {
		family := s.families[name]
		slices.SortStableFunc(family.Metric, func(a, b *dto.Metric) int {
			return cmp.Or(cmp.Compare(series(a), series(b)), cmp.Compare(a.GetTimestampMs(), b.GetTimestampMs()))
		})
		if _, err := expfmt.MetricFamilyToOpenMetrics(out, family); err != nil {
			return fmt.Errorf("write the family %q: %w", name, err)
		}
	}
	_, err := expfmt.FinalizeOpenMetrics(out)
	return err
}

func series(m *dto.Metric) string {
	var key strings.Builder
	for _, l := range m.GetLabel() {
		key.WriteString(l.GetName() + "\xff" + l.GetValue() + "\xff")
	}
	return key.String()
}
