package engine

import (
	"testing"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// Oracles read from the record what a load was to be, also if it never started.
func TestSteps_LoadFails_IsRecordedAsAsked(t *testing.T) {
	t.Parallel()
	for keep, load := range map[bool]step.Load{true: {Shoot: "gone", WritesPerSecond: 3, KeepAddress: true},
		false: {Shoot: "gone", WritesPerSecond: 3}} {
		journal := timeline.NewJournal(clock.RealClock{}, nil)
		s := &scenario.Scenario{}
		s.Spec.Steps = []step.Spec{{Load: &load}}
		r := &runner{scope: &scope{Options: Options{Scenario: s, World: worldtest.New(t, "a"), Journal: journal,
			Clock: clock.RealClock{}}}}
		r.env = &step.Environment{Shoots: &shoots{scope: r.scope}}
		if err := r.steps(t.Context()); err == nil {
			t.Error("a shoot that is not there is written to")
		}
		if _, started, _ := timeline.First[timeline.StepStarted](journal.Events()); started.KeepAddress != keep ||
			started.WritesPerSecond != 3 {
			t.Errorf("recorded %+v", started)
		}
	}
}
