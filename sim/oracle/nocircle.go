package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// smallestRing is how many seeds a circle has at least that may be: if one is lost, two are left to restore it.
const smallestRing = 3

// NoCircle promises that seeds which are shoots host each other in no circle of fewer than three, and in no circle but
// those of the landscape: of two that host each other, the loss of one leaves nobody to restore it
// (docs/specification/nodes-and-seeds.md#spec-7-7). It looks at where control planes are, and where they are to be.
type NoCircle struct{}

var _ Oracle = NoCircle{}

// Name of the promise.
func (NoCircle) Name() string { return "NoCircle" }

// Lacks the seeds that are hosted, and who hosts each.
func (NoCircle) Lacks(events []timeline.Event) []string {
	placed := map[string]bool{}
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		placed[e.Subject] = placed[e.Subject] || p.StatusSeed != ""
	}
	var lacks []string
	hosted := 0
	for _, seed := range describedIn(events).Seeds {
		if seed.HostedBy == "" {
			continue
		}
		if hosted++; !placed[seed.Name] {
			lacks = append(lacks, fmt.Sprintf("who hosts seed %q", seed.Name))
		}
	}
	if hosted == 0 {
		lacks = append(lacks, "a seed that is hosted by another (landscape.seeds[].hostedBy)")
	}
	return lacks
}

// Judge every state of every Shoot that is a seed.
func (o NoCircle) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	wanted := hosts{} // as the landscape is described
	for _, seed := range describedIn(events).Seeds {
		wanted[seed.Name] = seed.HostedBy
	}
	running, bound := hosts{}, hosts{} // by the status, and by the spec
	last, open := map[string]int{}, map[string]bool{}
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		if _, isSeed := wanted[e.Subject]; !isSeed {
			continue
		}
		running[e.Subject], bound[e.Subject], last[e.Subject] = p.StatusSeed, p.SpecSeed, e.Seq
		now := map[string]bool{}
		for _, kind := range []hosts{running, bound} {
			circle := kind.circle(e.Subject)
			name := nameOfCircle(circle)
			if len(circle) == 0 || len(circle) >= smallestRing && name == nameOfCircle(wanted.circle(e.Subject)) {
				continue
			}
			if now[name] = true; !open[name] {
				o.report(&f, e, circle, last)
			}
			open[name] = true
		}
		for name := range open { // what this seed has left
			if !now[name] && slices.Contains(strings.Split(name, ","), e.Subject) {
				delete(open, name)
			}
		}
	}
	return f.sorted()
}

func (NoCircle) report(f *findings, e timeline.Event, circle []string, last map[string]int) {
	var shownBy []int
	for _, seed := range circle {
		shownBy = append(shownBy, last[seed])
	}
	why := "which the landscape does not have"
	if len(circle) < smallestRing {
		why = fmt.Sprintf("fewer than %d", smallestRing)
	}
	f.add(e.At, proof(shownBy...), "the seeds host each other in a circle, %s: %s is hosted by %s", why, circle[0],
		strings.Join(append(circle[1:], circle[0]), ", which is hosted by "))
}

// hosts of seeds, by the names of the seeds; empty where nobody hosts one.
type hosts map[string]string

// circle is the way from a seed along its hosts back to it, the seed itself first; nil if it does not lead back.
func (h hosts) circle(seed string) []string {
	way := []string{seed}
	for at := h[seed]; at != seed; at = h[at] {
		if at == "" || slices.Contains(way, at) {
			return nil
		}
		way = append(way, at)
	}
	return way
}

// nameOfCircle is the same wherever the circle begins.
func nameOfCircle(circle []string) string {
	members := slices.Sorted(slices.Values(circle))
	return strings.Join(members, ",")
}
