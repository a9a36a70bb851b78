package measure

import "github.com/transplant-sim/transplant/sim/timeline"

// RestoresAtOnce is the largest number of shoots that one seed was restoring at the same time; false if there was no
// restore.
func RestoresAtOnce(events []timeline.Event) (most int, any bool) {
	on := map[string]string{} // seed by shoot, while it restores
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		if p.Absent || p.Operation.Type != "Restore" || p.Operation.State == "Succeeded" {
			delete(on, e.Subject)
			continue
		}
		on[e.Subject] = p.SpecSeed
		count := 0
		for _, seed := range on {
			if seed == p.SpecSeed {
				count++
			}
		}
		most, any = max(most, count), true
	}
	return most, any
}
