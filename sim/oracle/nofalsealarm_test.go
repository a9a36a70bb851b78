package oracle_test

import (
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func TestNoFalseAlarm(t *testing.T) {
	t.Parallel()
	state := func(kind, status string) timeline.Event {
		s := shoot("a", "a", "Reconcile", "Succeeded")
		s.Conditions = []timeline.ConditionIs{{Type: kind, Status: status}}
		if status == "False" {
			s.Conditions[0].Reason, s.Conditions[0].Message = "HealthzRequestError", "it does not answer"
		}
		return seen(s)
	}
	fine, ill, unknown := state("APIServerAvailable", "True"), state("APIServerAvailable", "False"),
		state("APIServerAvailable", "Unknown")
	injected, healed := of("cut", timeline.FaultInjected{}), of("cut", timeline.FaultHealed{})
	longAfter := history(steady(1), fine, injected, healed, ill)
	longAfter[4].At += 2 * convalescence
	check(t, oracle.NoFalseAlarm{}, map[string]row{
		"well all the time": {events: history(steady(1), fine, step("migrate"),
			state("APIServerAvailable", "Progressing"), fine)},
		"ill for no reason": {events: history(steady(1), fine, step("migrate"), ill, ill),
			want: "alpha: APIServerAvailable is False (HealthzRequestError: it does not answer), though nothing is wrong " +
				"with the shoot"},
		"nobody knows":                {events: history(steady(1), fine, unknown)},
		"ill while something is done": {events: history(steady(1), fine, step("delete"), ill)},
		"before it was well":          {events: history(ill, steady(1), fine)},
		"ill with a fault":            {events: history(steady(1), fine, injected, ill)},
		"recovering":                  {events: history(steady(1), fine, injected, healed, ill)},
		"ill long after a fault":      {events: longAfter, want: "APIServerAvailable is False (HealthzRequestError"},
		"a constraint is no alarm":    {events: history(steady(1), fine, state("HibernationPossible", "False"))},
		"nothing was seen":            {events: history(steady(1)), lacks: "conditions of a shoot"},
	})
}

const convalescence = 60_000_000_000
