package measure

import (
	"cmp"
	"slices"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Bystanders are the shoots that stayed on their seed all the time while another one moved; none where no shoot moved.
func Bystanders(events []timeline.Event) []string {
	all := shoots(events)
	stayed := slices.DeleteFunc(slices.Clone(all), func(shoot string) bool { return !stays(events, shoot) })
	if len(stayed) == len(all) {
		return nil
	}
	return stayed
}

// stays reports whether a shoot was seen on one seed only, and was bound to no other: whatever happened to
// others, its users should notice nothing.
func stays(events []timeline.Event, shoot string) bool {
	seed := ""
	for _, p := range timeline.About[timeline.ShootSeen](events, shoot) {
		if p.Absent {
			return false
		}
		for _, on := range []string{p.SpecSeed, p.StatusSeed} {
			if seed = cmp.Or(seed, on); on != "" && on != seed {
				return false
			}
		}
	}
	return seed != ""
}
