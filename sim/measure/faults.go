package measure

import (
	"encoding/json"
	"time"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// costlyFaults are the faults of a run that may cost a shoot its owner, or an owner its data, in their order. Of a
// fault that is not in the scenario of the record nothing is known, so that it may.
func costlyFaults(events []timeline.Event) (all []timeline.Event) {
	harmless := harmlessFaults(events)
	for e := range timeline.Of[timeline.FaultInjected](events) {
		if !harmless[e.Subject] {
			all = append(all, e)
		}
	}
	return all
}

// harmlessFaults of the scenario that stands in the record, by their names.
func harmlessFaults(events []timeline.Event) map[string]bool {
	_, started, _ := timeline.First[timeline.RunStarted](events)
	s := &scenario.Scenario{}
	if json.Unmarshal(started.Definition, s) != nil {
		return nil // whoever judges the run says so
	}
	harmless := map[string]bool{}
	for i := range s.Spec.Steps {
		inject := s.Spec.Steps[i].Fault
		if inject == nil {
			continue
		}
		if _, f := inject.Fault(); f != nil {
			harmless[inject.Name] = !f.Traits().MayLoseOwner(s.Spec.Landscape)
		}
	}
	return harmless
}

// causeOf a loss is the newest of the faults before it. The loss lies between the last good answer and the first sign
// that there is no owner: where several faults begin in between, it is the first of them, so that no recovery counts as
// shorter than it was.
func causeOf(faults []timeline.Event, good, sign time.Duration) (cause timeline.Event, any bool) {
	for _, f := range faults {
		switch {
		case f.At <= min(good, sign):
			cause, any = f, true
		case f.At > good && f.At <= sign:
			return f, true
		}
	}
	return cause, any
}
