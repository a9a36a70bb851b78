package oracle

import (
	"cmp"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// stateSight is a sight of an object of an extension of the user's own.
type stateSight struct {
	timeline.ExtensionStateSeen
	shoot string
	seq   int
	at    time.Duration
}

// lookAtStates tells of objects that say something else once they are restored than the last that was seen of them
// where the shoot was before. What an object says of a shoot that is elsewhere counts for nothing. It returns those
// that have not been seen restored since their shoot has left; but not those that were removed while it rested, as the
// DNS records of who sleeps are: when they are created again, that is no restore.
func lookAtStates(events []timeline.Event, other func(was, now stateSight)) (left []stateSight) {
	type object struct{ shoot, name string }
	kept := map[object]stateSight{}              // by which the next one is judged
	latest := map[object]map[string]stateSight{} // by seed
	removed := map[object]bool{}                 // while the shoot rested where they were
	place := map[string]timeline.ShootSeen{}
	look := func(now stateSight) {
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
		switch p := e.Payload.(type) {
		case timeline.ShootSeen:
			was := place[e.Subject].StatusSeed
			place[e.Subject] = p
			for of, there := range latest {
				switch sight, is := there[p.StatusSeed]; {
				case of.shoot != e.Subject:
				case p.Absent || p.Deleting:
					delete(latest, of)
					delete(kept, of)
					delete(removed, of)
				case is && was != p.StatusSeed:
					look(sight)
				}
			}
		case timeline.ExtensionStateSeen:
			of := object{e.Subject, p.Object}
			if latest[of] == nil {
				latest[of] = map[string]stateSight{}
			}
			if p.Gone {
				delete(latest[of], p.Seed)
				shoot := place[e.Subject]
				removed[of] = removed[of] || shoot.StatusSeed == p.Seed && shoot.SpecSeed == p.Seed
				continue
			}
			sight := stateSight{p, e.Subject, e.Seq, e.At}
			latest[of][p.Seed] = sight
			if place[e.Subject].StatusSeed == p.Seed {
				look(sight)
			}
		}
	}
	for of, sight := range kept {
		if place[of.shoot].StatusSeed != sight.Seed && !removed[of] {
			left = append(left, sight)
		}
	}
	slices.SortFunc(left, func(a, b stateSight) int {
		return cmp.Or(cmp.Compare(a.shoot, b.shoot), cmp.Compare(a.Object, b.Object))
	})
	return left
}
