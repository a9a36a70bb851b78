package measure

import (
	"slices"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// RestoresAtOnce is the largest number of shoots that one seed was restoring at the same time; false if there was no
// restore.
func RestoresAtOnce(events []timeline.Event) (most int, any bool) {
	herd := Herd(events)
	return len(herd), len(herd) > 0
}

// Herd is the first of the largest herds: the events, by their numbers in order, with which the restores began that one seed was
// at work on at the same time. With the last of them it was that many.
func Herd(events []timeline.Event) (most []int) {
	type restore struct {
		seed  string
		began int // number of the event
	}
	on := map[string]restore{} // by shoot, while it restores
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		if p.Absent || p.Operation.Type != "Restore" || p.Operation.State == "Succeeded" {
			delete(on, e.Subject)
			continue
		}
		if on[e.Subject].seed != p.SpecSeed {
			on[e.Subject] = restore{p.SpecSeed, e.Seq}
		}
		var herd []int
		for _, r := range on {
			if r.seed == p.SpecSeed {
				herd = append(herd, r.began)
			}
		}
		if len(herd) > len(most) {
			most = herd
		}
	}
	slices.Sort(most)
	return most
}
