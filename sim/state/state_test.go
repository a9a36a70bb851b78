package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func TestState_LastThatWasSeen_IsKnown(t *testing.T) {
	t.Parallel()
	type nodes struct{ ready, all int }
	on := func(seed string) timeline.ShootSeen { return timeline.ShootSeen{StatusSeed: seed} }
	var events []timeline.Event
	for i, e := range []timeline.Event{
		{Subject: "alpha", Payload: on("a")},
		{Subject: "alpha", Payload: timeline.NodeSeen{Name: "n1", Ready: "True"}},
		{Subject: "alpha", Payload: timeline.NodeSeen{Name: "n2", Ready: "False"}},
		{Subject: "beta", Payload: timeline.NodeSeen{Name: "n1", Ready: "True"}},
		{Subject: "beta", Payload: on("b")},
		{Subject: "alpha", Payload: timeline.NodeSeen{Name: "n1", Gone: true}},
		{Subject: "alpha", Payload: timeline.ShootSeen{Absent: true}},
		{Subject: "c", Payload: timeline.SeedSeen{}},
	} {
		e.At = time.Duration(i) * time.Second
		events = append(events, e)
	}
	for at, want := range map[time.Duration]struct {
		shoots map[string]timeline.ShootSeen
		nodes  nodes // of alpha
	}{
		-1:              {map[string]timeline.ShootSeen{}, nodes{}},
		0:               {map[string]timeline.ShootSeen{"alpha": on("a")}, nodes{}},
		3 * time.Second: {map[string]timeline.ShootSeen{"alpha": on("a")}, nodes{1, 2}},
		5 * time.Second: {map[string]timeline.ShootSeen{"alpha": on("a"), "beta": on("b")}, nodes{0, 1}},
		time.Hour:       {map[string]timeline.ShootSeen{"alpha": {Absent: true}, "beta": on("b")}, nodes{0, 1}},
	} {
		s := state.At(events, at)
		ready, all := s.Nodes("alpha")
		if diff := cmp.Diff(want.shoots, s.Shoots); diff != "" || want.nodes != (nodes{ready, all}) {
			t.Errorf("at %s: nodes %d of %d, want %+v; shoots (-want +got):\n%s", at, ready, all, want.nodes, diff)
		}
	}
	if diff := cmp.Diff(state.At(events, time.Hour).Shoots, state.Of(events).Shoots); diff != "" {
		t.Error(diff)
	}
}
