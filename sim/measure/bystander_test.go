package measure_test

import (
	"slices"
	"testing"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// TestBystanders: the outage of a shoot that stayed counts apart from that of one that moved.
func TestBystanders(t *testing.T) {
	t.Parallel()
	stays := history(at{0, timeline.ShootReady{}}, shoot(0, "a", "a", "Create", "Succeeded"),
		reached(1, timeline.Acknowledged), reached(2, timeline.Failed), reached(2.5, timeline.Acknowledged),
		at{4, timeline.Settled{}})
	moves := func(first, last string) []timeline.Event {
		events := history(at{0, timeline.ShootReady{}}, shoot(0, first, first, "Create", "Succeeded"),
			reached(1, timeline.Failed), reached(3, timeline.Acknowledged),
			shoot(3.5, last, last, "Restore", "Succeeded"))
		for i := range events {
			events[i].Subject = "beta"
		}
		return events
	}
	for name, row := range map[string]struct {
		events     []timeline.Event
		bystanders []string
		downtime   float64
		unreached  int
	}{
		"one moved":         {slices.Concat(stays, moves("a", "b")), []string{"alpha"}, 1.5, 0},
		"both stayed":       {slices.Concat(stays, moves("a", "a")), nil, 0, 0},
		"bound elsewhere":   {slices.Concat(stays, moves("a", "b"), history(shoot(3.6, "b", "a", "Create", ""))), nil, 0, 0},
		"not in the garden": {slices.Concat(moves("a", "b"), history(at{0, timeline.ShootReady{}})), nil, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := measure.Bystanders(row.events); !slices.Equal(got, row.bystanders) {
				t.Errorf("bystanders: %q, want %q", got, row.bystanders)
			}
			switch got := measure.Of(row.events).BystanderDowntimeSeconds; {
			case got == nil && row.downtime > 0, got != nil && *got != row.downtime:
				t.Errorf("downtime: %v, want %v", got, row.downtime)
			}
			if got := measure.UnreachedBystanders(row.events, 0); len(got) != row.unreached {
				t.Errorf("unreached: %q, want %d", got, row.unreached)
			}
		})
	}
}
