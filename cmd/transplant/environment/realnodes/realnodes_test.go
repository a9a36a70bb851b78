package realnodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// The nodes of a seed have the addresses of its cluster. Others have slices of their own.
func TestPlan_NodesOfSeeds_HaveTheAddressesOfTheSeed(t *testing.T) {
	t.Parallel()
	s := Of(landscape.Landscape{
		Seeds: []landscape.Seed{{Name: "first"}, {Name: "a", HostedBy: "first"}},
		Shoots: []landscape.Shoot{
			{Name: "alpha", Seed: "a", Workers: 1, Nodes: landscape.RealNodes},
			{Name: "a", Seed: "first", Workers: 1, Nodes: landscape.RealNodes},
			{Name: "beta", Seed: "first", Workers: 1},
		},
	})
	if err := s.Plan(0); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, plan := range s.networks {
		got[name] = plan.Range().String()
	}
	want := map[string]string{"alpha": "127.23.0.0/16", "a": "127.19.0.0/16"}
	if diff := cmp.Diff(want, got); diff != "" || s.Count() != 2 || s.Slices() != 1 {
		t.Errorf("%d of %d need addresses of their own (-want +got):\n%s", s.Slices(), s.Count(), diff)
	}
}
