package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDoubled(t *testing.T) {
	t.Parallel()
	phase := func(seconds float64, gets, patches int64) Phase {
		return Phase{Name: AtRest, Seconds: seconds, Requests: []Request{
			{From: "gardenlet-a", To: "garden", Verb: "get", Resource: "shoots.core.gardener.cloud", Requests: gets},
			{From: "gardenlet-a", To: "garden", Verb: "patch", Resource: "leases.coordination.k8s.io", Requests: patches},
		}}
	}
	const shoots = `phase "at rest": gardenlet-a sent 40 × get shoots.core.gardener.cloud to garden; expected about `
	for name, c := range map[string]struct {
		before, now Phase
		want        []string
	}{
		"the same":                    {phase(10, 40, 10), phase(10, 40, 10), nil},
		"less than twice as many":     {phase(10, 21, 10), phase(10, 40, 10), nil},
		"twice as many":               {phase(10, 20, 10), phase(10, 40, 10), []string{shoots + "20"}},
		"twice as many in longer":     {phase(10, 20, 10), phase(12, 40, 10), nil},
		"too many even for so long":   {phase(10, 10, 10), phase(20, 40, 10), []string{shoots + "20"}},
		"in a shorter time":           {phase(10, 20, 10), phase(5, 40, 10), []string{shoots + "20"}},
		"twice as many of a few":      {phase(10, 4, 10), phase(10, 13, 10), nil},
		"of which there were none":    {phase(10, 0, 10), phase(10, 40, 10), []string{shoots + "0"}},
		"fewer":                       {phase(10, 40, 30), phase(10, 2, 3), nil},
		"before the run, without end": {phase(0, 20, 10), phase(0, 40, 10), []string{shoots + "20"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Doubled([]Phase{c.before}, []Phase{c.now})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	other := Phase{Name: Recovery}
	want := []string{`phase "recovery": the other profile does not have it`, `phase "at rest": this run does not have it`}
	if diff := cmp.Diff(want, Doubled([]Phase{phase(1, 1, 1)}, []Phase{other})); diff != "" {
		t.Errorf("a phase that the other does not have (-want +got):\n%s", diff)
	}
}
