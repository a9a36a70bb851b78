package oracle

import (
	"cmp"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// observedState is a state of an object of a third-party extension.
type observedState struct {
	timeline.ExtensionStateSeen
	shoot string
	seq   int
	at    time.Duration
}

// lookAtStates reports objects that say something else once they are restored than the last that was seen of them
// where the shoot was before. What an object says of a shoot that is elsewhere counts for nothing. It returns those
// that have not been seen restored since their shoot has left; but not those that were removed while it rested, as the
// DNS records of who sleeps are: when they are created again, that is no restore.
func lookAtStates(events []timeline.Event, other func(was, now observedState)) (left []observedState) {
	type object struct{ shoot, name string }
	kept := map[object]observedState{}              // by which the next one is judged
	latest := map[object]map[string]observedState{} // by seed
	removed := map[object]bool{}                    // while the shoot rested where they were
	known := state.New()
	look := func(now observedState) {
		of := object{now.shoot, now.Object}
		was, before := kept[of]
		anew := removed[of] && now.Operation.Type == "Create"
		if before && was.UID != now.UID && !anew { // what is new is empty at first
			if restored := now.Operation.Type == "Restore" || now.Operation.Type == "Reconcile"; !restored ||
				now.Operation.State != "Succeeded" {
				return
			}
			if was.Holds != now.Holds {
				other(was, now)
			}
		}
		kept[of] = now
		delete(removed, of)
	}
	for _, e := range events {
		on := known.Shoots[e.Subject].StatusSeed // before this event
		known.Take(e)
		switch p := e.Payload.(type) {
		case timeline.ShootSeen:
			for of, there := range latest {
				switch restored, is := there[p.StatusSeed]; {
				case of.shoot != e.Subject:
				case p.Absent || p.Deleting:
					delete(latest, of)
					delete(kept, of)
					delete(removed, of)
				case is && on != p.StatusSeed:
					look(restored)
				}
			}
		case timeline.ExtensionStateSeen:
			if p.Uncompared {
				continue
			}
			of := object{e.Subject, p.Object}
			if latest[of] == nil {
				latest[of] = map[string]observedState{}
			}
			if p.Gone {
				delete(latest[of], p.Seed)
				shoot := known.Shoots[e.Subject]
				removed[of] = removed[of] || shoot.StatusSeed == p.Seed && shoot.SpecSeed == p.Seed
				continue
			}
			now := observedState{p, e.Subject, e.Seq, e.At}
			latest[of][p.Seed] = now
			if on == p.Seed {
				look(now)
			}
		}
	}
	for of, last := range kept {
		if known.Shoots[of.shoot].StatusSeed != last.Seed && !removed[of] {
			left = append(left, last)
		}
	}
	slices.SortFunc(left, func(a, b observedState) int {
		return cmp.Or(cmp.Compare(a.shoot, b.shoot), cmp.Compare(a.Object, b.Object))
	})
	return left
}
