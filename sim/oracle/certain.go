package oracle

import (
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Certain are the violations of an oracle that stand in spite of gaps in what was seen: those that all who were to look
// had seen before the first of them stopped. What came later may explain the others, and who did not look would have
// seen that.
//
// It takes an oracle that accuses by no part of a record from its beginning whom the whole record clears. Some evidence
// is on the record only a while after what it is about, such as a write when it is answered, or the cloud's ledger when
// it is read. So everybody must have looked for one heartbeat more, and the violation must be there with that, too.
func Certain(o Oracle, events []timeline.Event, gaps []Gap) []Violation {
	_, run, _ := timeline.First[timeline.RunStarted](events)
	var until time.Duration
	for i, gap := range gaps {
		if i == 0 || gap.Since < until {
			until = gap.Since
		}
	}
	found := o.Judge(recordedBy(events, until-time.Duration(run.Heartbeat)))
	for _, more := range [][]timeline.Event{recordedBy(events, until), events} {
		if len(found) == 0 {
			return nil
		}
		confirmed := o.Judge(more)
		found = slices.DeleteFunc(found, func(v Violation) bool { return !slices.ContainsFunc(confirmed, v.isIn) })
	}
	return found
}

// recordedBy are the events up to a moment.
func recordedBy(events []timeline.Event, until time.Duration) []timeline.Event {
	if after := slices.IndexFunc(events, func(e timeline.Event) bool { return e.At > until }); after >= 0 {
		return events[:after]
	}
	return events
}

// isIn says whether another violation shows what this one does, perhaps with more proof.
func (v Violation) isIn(other Violation) bool {
	return v.Oracle == other.Oracle && !slices.ContainsFunc(v.Events, func(seq int) bool {
		return !slices.Contains(other.Events, seq)
	})
}
