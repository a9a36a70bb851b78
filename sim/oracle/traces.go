package oracle

import (
	"fmt"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// tracelessSteps: a step that is done has left something on the record that only it can have left.
func tracelessSteps(events []timeline.Event) (found []string) {
	started := map[int]int{} // where, by the index of the step
	for i, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			started[p.Index] = i
		case timeline.StepEnded:
			from, known := started[p.Index]
			if !known || p.Outcome != timeline.StepDone {
				continue
			}
			if what := (trace{events, from, i}).missing(); what != "" {
				found = append(found, fmt.Sprintf("step %d, %s, is done, and %s", p.Index+1, p.Text, what))
			}
		}
	}
	return found
}

// trace of a step: events, and where it begins and ends in them.
type trace struct {
	events   []timeline.Event
	from, to int
}

// missing is what the step must have left and has not; empty when nothing is missing, or when it leaves nothing by
// which it is known.
func (t trace) missing() string {
	step := t.events[t.from].Payload.(timeline.StepStarted)
	subject := t.events[t.from].Subject
	switch {
	case step.Refused:
		return ""
	case step.Lasts > 0:
		if took := t.events[t.to].At - t.events[t.from].At; took < time.Duration(step.Lasts) {
			return fmt.Sprintf("it took %s", took)
		}
		return ""
	}
	switch step.Verb {
	case "expect", "wait":
		return t.missingCondition()
	case "fault":
		if !t.within(func(e timeline.Event) bool { return e.Subject == subject && isBegun(e.Payload) }) {
			return "no fault of this name was injected, and none waits"
		}
	case "heal":
		return t.missingHeal(subject)
	case "create":
		if !t.within(func(e timeline.Event) bool {
			_, is := e.Payload.(timeline.ShootReady)
			return is && e.Subject == subject
		}) {
			return "the shoot was never ready"
		}
	default:
		return t.missingState(step, subject)
	}
	return ""
}

func (t trace) within(is func(timeline.Event) bool) bool {
	return slices.ContainsFunc(t.events[t.from:t.to+1], is)
}

func isBegun(p timeline.Payload) bool {
	switch p.(type) {
	case timeline.FaultAwaited, timeline.FaultInjected:
		return true
	}
	return false
}

func (t trace) missingCondition() string {
	unknown, met := "", false
	for _, p := range timeline.Of[timeline.ConditionMet](t.events[t.from : t.to+1]) {
		met, unknown = true, p.Unknown
	}
	switch {
	case !met:
		return "nobody has seen that its condition was true"
	case unknown != "":
		return "it is unknown whether its condition was true: " + unknown
	}
	return ""
}

// missingHeal of a fault that had begun.
func (t trace) missingHeal(fault string) string {
	begun := false
	for _, e := range t.events[:t.to+1] {
		if e.Subject != fault {
			continue
		}
		switch e.Payload.(type) {
		case timeline.FaultInjected:
			begun = true
		case timeline.FaultHealed:
			return ""
		}
	}
	if begun {
		return "the fault has not been healed"
	}
	return ""
}

// missingState is what a step has asked the garden for, and nobody has seen there.
func (t trace) missingState(step timeline.StepStarted, shoot string) string {
	var asked func(timeline.ShootSeen) bool
	switch step.Verb {
	case "migrate":
		asked = func(p timeline.ShootSeen) bool { return p.SpecSeed == step.To }
	case "hibernate":
		asked = func(p timeline.ShootSeen) bool { return p.WantsToSleep }
	case "wake":
		asked = func(p timeline.ShootSeen) bool { return !p.WantsToSleep }
	case "delete":
		asked = func(p timeline.ShootSeen) bool { return p.Deleting || p.Absent }
	default:
		return ""
	}
	seen := false // the state at the step's beginning counts: nothing is asked for that is so already
	for i, e := range t.events {
		switch p := e.Payload.(type) {
		case timeline.ShootSeen:
			if e.Subject != shoot {
				continue
			}
			if seen = asked(p); seen && i > t.from {
				return ""
			}
		case timeline.StepStarted:
			if i > t.from && e.Subject == shoot && p.Verb == step.Verb && !p.Refused {
				return t.unless(seen)
			}
		case timeline.Unseen:
			if i > t.from && p.Probe == timeline.StateOf(shoot) {
				return "" // its follower was blind then
			}
		}
		if i == t.from && seen {
			return ""
		}
	}
	return t.unless(seen)
}

func (trace) unless(seen bool) string {
	if seen {
		return ""
	}
	return "nobody has seen in the garden that it was asked for"
}
