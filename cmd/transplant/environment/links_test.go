package environment

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// Scenarios may harm the links for which actors of a seed are given kubeconfigs, and no others; shoots are reached by
// proxies.
func TestLinksThatAreUsed(t *testing.T) {
	t.Parallel()
	l := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}, {Name: "b"}},
		Extensions: []landscape.Extension{{Name: "acme"}}}
	given := map[string][]string{}
	for _, k := range (&Environment{Extensions: l.Extensions}).seedKubeconfigs("b") {
		given[k.actor] = append(given[k.actor], k.target)
	}
	if len(given) != 5 {
		t.Errorf("%d actors have kubeconfigs", len(given))
	}
	for actor, targets := range given {
		slices.Sort(targets)
		may := slices.DeleteFunc(l.TargetsOf(actor), func(target string) bool { return target == "shoots" })
		if diff := cmp.Diff(targets, may); diff != "" {
			t.Errorf("links of %s (-given +may be harmed):\n%s", actor, diff)
		}
	}
}
