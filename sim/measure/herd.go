package measure

import (
	"maps"
	"slices"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// RestoresAtOnce is the largest number of shoots that one seed was restoring at the same time; false if there was no
// restore.
func RestoresAtOnce(events []timeline.Event) (most int, any bool) {
	herd := Herd(events)
	return len(herd), len(herd) > 0
}

// Herd is the first of the largest herds: the events, by their numbers in order, with which the restores began that one
// seed was at work on at the same time. With the last of them it was that many.
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

// UnseenRestores says of which shoots it was not seen when they were restored: nobody has followed them, or they have
// come to a seed more often than a Restore was seen to be at work there. Outside any seed no seed restores them.
func UnseenRestores(events []timeline.Event) (lacks []string) {
	for _, shoot := range shoots(events) {
		if !isFollowed(events, shoot) {
			lacks = append(lacks, "the Shoot "+shoot+" in the garden, which says when it is restored")
			continue
		}
		arrivals, restores := arrivalsOf(events, shoot), restoresOf(events, shoot)
		for _, seed := range slices.Sorted(maps.Keys(arrivals)) {
			if restores[seed] < arrivals[seed] && seed != constants.SeedOutside {
				lacks = append(lacks, "the restore of "+shoot+" on "+seed)
			}
		}
	}
	return lacks
}

// arrivalsOf a shoot: how often it has come to each seed from another, as the garden says, or as those say who serve.
func arrivalsOf(events []timeline.Event, shoot string) map[string]int {
	said, served := map[string]int{}, map[string]int{}
	on := ""
	for _, p := range timeline.About[timeline.ShootSeen](events, shoot) {
		if p.StatusSeed != "" && on != "" && p.StatusSeed != on {
			said[p.StatusSeed]++
		}
		on = p.StatusSeed
	}
	owners := ownersOf(events, shoot).all
	for i := 1; i < len(owners); i++ {
		if before, now := owners[i-1].seed, owners[i].seed; before != "" && now != "" && now != before {
			served[now]++
		}
	}
	for seed, times := range served {
		said[seed] = max(said[seed], times)
	}
	return said
}

// restoresOf a shoot: how often its Restore was seen to begin on each seed.
func restoresOf(events []timeline.Event, shoot string) map[string]int {
	begun, on := map[string]int{}, ""
	for _, p := range timeline.About[timeline.ShootSeen](events, shoot) {
		now := ""
		if p.Operation.Type == "Restore" && p.Operation.State != "Succeeded" {
			now = p.SpecSeed
		}
		if now != "" && now != on {
			begun[now]++
		}
		on = now
	}
	return begun
}
