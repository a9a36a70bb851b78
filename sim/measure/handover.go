package measure

import (
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// handOver follows what the garden says of one shoot, and knows whether the owner before has let go: the Migrate that was seen last
// has succeeded, so that its final snapshot is there (SPEC O11). Every other change of owner is a recovery, for which Migrate is
// Aborted, or which begins on the same seed with none.
type handOver struct{ left bool }

func (h *handOver) take(p timeline.ShootSeen) {
	if p.Operation.Type == "Migrate" {
		h.left = p.Operation.State == "Succeeded"
	}
}

// taken says whether the next owner had it handed over; the one after it did not.
func (h *handOver) taken() bool {
	left := h.left
	h.left = false
	return left
}

// store is an etcd from one restore to the next: of an epoch, which may come back within it from its backups.
type store struct{ epoch, generation int64 }

func storeOf(epochs oracle.Epochs, w timeline.Write) store {
	return store{epochs.Of(w.ResourceVersion), oracle.Generation(w.ResourceVersion)}
}

// owners of one shoot, as far as they were seen.
type owners struct {
	epochs oracle.Epochs
	// newest is the last epoch that has served, handed those that were handed over to their owners.
	newest int64
	handed map[int64]bool
}

func ownersOf(events []timeline.Event, shoot string) owners {
	o, over := owners{epochs: oracle.EpochsOf(events, shoot), handed: map[int64]bool{}}, handOver{}
	serves := func(epoch int64) {
		if epoch > o.newest {
			o.newest, o.handed[epoch] = epoch, over.taken()
		}
	}
	for _, e := range events {
		if e.Subject != shoot {
			continue
		}
		switch p := e.Payload.(type) {
		case timeline.ShootSeen:
			over.take(p)
		case timeline.EpochSeen:
			if p.State == "Serving" { // an owner that has only begun may have to begin anew, with another epoch
				serves(p.Epoch)
			}
		case timeline.Write:
			if p.Outcome == timeline.Acknowledged {
				serves(o.epochs.Of(p.ResourceVersion))
			}
		}
	}
	return o
}
