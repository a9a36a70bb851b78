package measure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func TestRestoresAtOnce(t *testing.T) {
	t.Parallel()
	of := func(name string, one at) timeline.Event {
		return timeline.Event{At: d(one.second), Kind: one.p.Kind(), Subject: name, Payload: one.p}
	}
	events := []timeline.Event{
		of("alpha", shoot(1, "a", "a", "Create", "Succeeded")),
		of("alpha", shoot(2, "b", "b", "Restore", "Processing")),
		of("beta", shoot(3, "c", "c", "Restore", "Processing")), // on another seed
		of("alpha", shoot(4, "b", "b", "Restore", "Error")),     // goes on
		of("gamma", shoot(5, "b", "b", "Restore", "Processing")),
		of("alpha", shoot(6, "b", "b", "Restore", "Succeeded")),
		of("delta", shoot(7, "b", "b", "Restore", "Processing")),
		of("gamma", at{8, timeline.ShootSeen{Absent: true}}),
		of("beta", shoot(9, "b", "b", "Restore", "Processing")),
	}
	for i := range events {
		events[i].Seq = i + 1
	}
	// the restore that failed for a while began before
	for upTo, want := range map[int][]int{2: {2}, 4: {2}, 5: {2, 5}, 9: {2, 5}} {
		if diff := cmp.Diff(want, measure.Herd(events[:upTo])); diff != "" {
			t.Errorf("the herd of %d events (-want +got):\n%s", upTo, diff)
		}
	}
	for upTo, want := range map[int]int{1: 0, 2: 1, 4: 1, 5: 2, 9: 2} {
		if got, any := measure.RestoresAtOnce(events[:upTo]); got != want || any != (want > 0) {
			t.Errorf("of %d events: %d, %t, want %d", upTo, got, any, want)
		}
	}
}
