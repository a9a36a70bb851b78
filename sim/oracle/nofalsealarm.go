package oracle

import (
	"cmp"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// NoFalseAlarm promises that no condition of a shoot is False while nothing is wrong with it: nothing that the scenario
// does to it as planned, a move above all, is wrong (docs/specification/care.md#spec-5-3,
// docs/specification/care.md#care-5). Unknown is honest: while a control plane is moved, nobody sees what is in the
// shoot.
type NoFalseAlarm struct{}

var _ Oracle = NoFalseAlarm{}

// Name of the promise.
func (NoFalseAlarm) Name() string { return "NoFalseAlarm" }

// convalescence is how long after a fault has ended a condition may still say so.
const convalescence = time.Minute

// alarms are the conditions of docs/specification/care.md#spec-5-2. Constraints say what may be done, not how the shoot
// fares.
var alarms = []string{"APIServerAvailable", "ControlPlaneHealthy", "EveryNodeReady", "ObservabilityComponentsHealthy",
	"SystemComponentsHealthy"}

// Lacks conditions of any shoot.
func (NoFalseAlarm) Lacks(events []timeline.Event) []string {
	for _, seen := range timeline.Of[timeline.ShootSeen](events) {
		if slices.ContainsFunc(seen.Conditions, func(c timeline.ConditionIs) bool {
			return slices.Contains(alarms, c.Type)
		}) {
			return nil
		}
	}
	return []string{"conditions of a shoot"}
}

// Judge every state of every shoot that was steady once, while no fault is at work.
func (o NoFalseAlarm) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	peace := map[string]*calm{}
	for _, shoot := range shootsOf(events) {
		peace[shoot] = &calm{shoot: shoot}
	}
	active, well := map[string]bool{}, time.Duration(0)
	raised := map[string]bool{}
	for _, e := range events {
		switch e.Payload.(type) {
		case timeline.FaultInjected:
			active[e.Subject] = true
		case timeline.FaultHealed:
			delete(active, e.Subject)
			well = e.At + convalescence
		}
		for _, one := range peace {
			one.take(e)
		}
		seen, is := e.Payload.(timeline.ShootSeen)
		one := peace[e.Subject]
		if !is || one == nil || !one.steady || one.asked != "" || len(active) > 0 || e.At < well {
			continue
		}
		o.judgeState(&f, e, seen, raised)
	}
	return f.sorted()
}

// judgeState finds alarms that have begun.
func (NoFalseAlarm) judgeState(f *findings, e timeline.Event, seen timeline.ShootSeen, raised map[string]bool) {
	for _, c := range seen.Conditions {
		key, alarm := e.Subject+" "+c.Type, c.Status == "False"
		if alarm && !raised[key] && slices.Contains(alarms, c.Type) {
			f.add(e.At, proof(e.Seq), "%s: %s is %s (%s), though nothing is wrong with the shoot", e.Subject, c.Type, c.Status,
				cmp.Or(c.Why(), "it does not say why"))
		}
		raised[key] = alarm
	}
}
