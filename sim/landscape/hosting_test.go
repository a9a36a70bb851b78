package landscape_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// hosted is a landscape of seeds, each with its host, or "".
func hosted(seedsAndHosts ...string) landscape.Landscape {
	var l landscape.Landscape
	for i := 0; i < len(seedsAndHosts); i += 2 {
		l.Seeds = append(l.Seeds, landscape.Seed{Name: seedsAndHosts[i], HostedBy: seedsAndHosts[i+1]})
	}
	return l
}

// hostedBy is a seed, and its shoot that nobody has named.
func hostedBy(name, born, host string) landscape.Hosted {
	return landscape.Hosted{Name: name, Born: born, Host: host,
		Shoot: landscape.Shoot{Name: name, Seed: host, Purpose: landscape.Infrastructure}}
}

// A seed is made when its host is there. A ring begins on the first seed without a host, and is closed by one move.
func TestHostedSeeds_EachIsMadeOnASeedThatIsThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seeds landscape.Landscape
		want  []landscape.Hosted
	}{
		"none": {hosted("a", "", "b", ""), nil},
		"one on another, the host named later": {hosted("m", "n", "n", "first", "first", ""),
			[]landscape.Hosted{hostedBy("n", "first", "first"), hostedBy("m", "n", "n")}},
		"a ring": {hosted("first", "", "a", "c", "b", "a", "c", "b"),
			[]landscape.Hosted{hostedBy("a", "first", "c"), hostedBy("b", "a", "a"), hostedBy("c", "b", "b")}},
		"a ring, and a seed on it that is named before": {hosted("x", "b", "first", "", "a", "c", "b", "a", "c", "b"),
			[]landscape.Hosted{hostedBy("a", "first", "c"), hostedBy("b", "a", "a"), hostedBy("x", "b", "b"),
				hostedBy("c", "b", "b")}},
		"a ring without a beginning":    {hosted("a", "c", "b", "a", "c", "b"), nil},
		"a host that does not exist":    {hosted("first", "", "a", "nowhere"), nil},
		"a seed that would host itself": {hosted("first", "", "a", "a"), []landscape.Hosted{hostedBy("a", "first", "a")}},
	} {
		if diff := cmp.Diff(c.want, c.seeds.HostedSeeds()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The shoots that are seeds need not be named.
func TestAddHosted_AddsWhatIsMissing(t *testing.T) {
	t.Parallel()
	l := hosted("first", "", "a", "first", "b", "a")
	given := landscape.Shoot{Name: "b", Seed: "a", Purpose: landscape.Infrastructure, Objects: 7}
	l.Shoots = []landscape.Shoot{given}
	if all := l.HostedSeeds(); len(all) != 2 || all[1].Shoot != given {
		t.Errorf("the shoot that is given is lost: %+v", all)
	}
	l.AddHosted()
	l.AddHosted() // a file is read once more before it runs
	want := []landscape.Shoot{given, {Name: "a", Seed: "first", Purpose: landscape.Infrastructure}}
	if diff := cmp.Diff(want, l.Shoots); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.IsHosted("first") || !l.IsHosted("b") || l.HostOf("b") != "a" || l.HostOf("nobody") != "" {
		t.Error("who hosts whom is wrong")
	}
	l.Shoots[0].Workers = 1
	l.Shoots = append(l.Shoots, landscape.Shoot{Name: "alpha", Seed: "first", Workers: 1})
	if !l.OnMachines("b") || l.OnMachines("a") || l.OnMachines("first") || l.OnMachines("alpha") {
		t.Error("whose nodes are machines is wrong")
	}
}

// Each member of a ring is hosted by the one before it, and it is closed: the way from each leads back to it.
func TestRing(t *testing.T) {
	t.Parallel()
	for _, members := range []int{-1, 0, 2} {
		if _, err := landscape.Ring(members); err == nil {
			t.Errorf("a ring of %d can be made", members)
		}
	}
	l, err := landscape.Ring(4)
	if err != nil {
		t.Fatal(err)
	}
	want := hosted("first", "", "a", "d", "b", "a", "c", "b", "d", "c")
	if diff := cmp.Diff(want.Seeds, l.Seeds); diff != "" || !l.Settings.SecondSign {
		t.Errorf("second sign %t (-want +got):\n%s", l.Settings.SecondSign, diff)
	}
	if way := l.Circle("b"); len(way) != 4 {
		t.Errorf("the way from b is %v", way)
	}
}
