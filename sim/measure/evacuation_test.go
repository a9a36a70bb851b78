package measure_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func TestEvacuationOf(t *testing.T) {
	t.Parallel()
	of := func(name string, one at) timeline.Event {
		return timeline.Event{At: d(one.second), Kind: one.p.Kind(), Subject: name, Payload: one.p}
	}
	cost := func(second float64, seed, garden, user int64, cpu time.Duration) timeline.Event {
		return of("", at{second, timeline.CostSeen{
			Requests: map[string]int64{"gardenlet-b": seed, "garden-controller-manager": garden, "user": user, "nodes": user},
			CPU:      timeline.Length(cpu),
		}})
	}
	fire := of("fire", at{2, timeline.FaultInjected{}})
	before := []timeline.Event{
		of("alpha", shoot(0, "a", "a", "Create", "Succeeded")), of("beta", shoot(0, "a", "a", "Restore", "Succeeded")),
		of("stays", shoot(0, "b", "b", "Restore", "Succeeded")),
	}
	after := []timeline.Event{
		of("beta", shoot(3, "a", "a", "Restore", "Succeeded")), of("stays", shoot(3, "b", "b", "Restore", "Succeeded")),
		of("alpha", shoot(4, "b", "a", "Create", "Succeeded")), of("alpha", shoot(5, "b", "b", "Restore", "Processing")),
		of("alpha", shoot(8, "b", "b", "Restore", "Succeeded")), of("alpha", shoot(9, "b", "b", "Restore", "Succeeded")),
		of("beta", shoot(12, "b", "b", "Restore", "Succeeded")),
	}
	joined := func(parts ...[]timeline.Event) []timeline.Event {
		var all []timeline.Event
		for _, part := range parts {
			all = append(all, part...)
		}
		return all
	}
	begin, early := cost(1, 1, 1, 1, time.Second), cost(2.5, 100, 10, 50, 40*time.Second)
	end, late := cost(13, 300, 31, 9000, 45*time.Second), cost(14, 999, 999, 999, time.Hour)
	for name, c := range map[string]struct {
		events []timeline.Event
		want   *measure.Evacuation
	}{
		"no fault":    {events: joined(before, after)},
		"nobody went": {events: joined(before, []timeline.Event{fire}, after[:2])},
		"handed over": {
			events: joined(before, []timeline.Event{fire, of("alpha", shoot(4, "b", "a", "Create", "Succeeded")),
				of("alpha", shoot(5, "b", "a", "Migrate", "Processing")),
				of("alpha", shoot(6, "b", "a", "Migrate", "Succeeded")), of("alpha", shoot(7, "b", "b", "Restore", "Processing")),
				of("alpha", shoot(8, "b", "b", "Restore", "Succeeded"))}),
		},
		// Whether its last Migrate was given up was not seen. That of the move before was over when the shoot had arrived.
		"lost after a move": {
			events: joined(before, []timeline.Event{of("alpha", shoot(1, "b", "a", "Migrate", "Succeeded")),
				of("alpha", shoot(1.5, "b", "b", "Restore", "Succeeded")), fire,
				of("alpha", shoot(7, "c", "c", "Restore", "Processing")), of("alpha", shoot(8, "c", "c", "Restore", "Succeeded"))}),
			want: &measure.Evacuation{Shoots: 1, Seconds: 6},
		},
		"lost after a move that ends after the fault": {
			events: joined(before, []timeline.Event{of("alpha", shoot(1, "b", "a", "Migrate", "Succeeded")),
				of("alpha", shoot(1.5, "b", "b", "Restore", "Processing")), fire,
				of("alpha", shoot(3, "b", "b", "Restore", "Succeeded")), of("alpha", shoot(7, "c", "c", "Restore", "Processing")),
				of("alpha", shoot(8, "c", "c", "Restore", "Succeeded"))}),
			want: &measure.Evacuation{Shoots: 1, Seconds: 6},
		},
		"nobody counted": {events: joined(before, []timeline.Event{fire}, after),
			want: &measure.Evacuation{Shoots: 2, Seconds: 10}},
		"counted at once": {events: joined(before, []timeline.Event{fire}, after, []timeline.Event{end, late}),
			want: &measure.Evacuation{Shoots: 2, Seconds: 10}},
		"counted": {
			events: joined([]timeline.Event{begin}, before, []timeline.Event{fire, early}, after, []timeline.Event{end, late}),
			want: &measure.Evacuation{Shoots: 2, Seconds: 10, RequestsPerShoot: number(110.5),
				CPUSecondsPerShoot: number(2.5)},
		},
		"one of two": {events: joined(before, []timeline.Event{fire}, after[:6]),
			want: &measure.Evacuation{Shoots: 1, Seconds: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, measure.EvacuationOf(c.events)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
