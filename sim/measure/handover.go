package measure

import (
	"time"

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

// arrived says that a shoot has been restored where it is to be.
func arrived(p timeline.ShootSeen) bool {
	return p.Operation.Type == "Restore" && p.Operation.State == "Succeeded" && p.SpecSeed == p.StatusSeed
}

// store is an etcd from one restore to the next: of an epoch, which may come back within it from its backups.
type store struct{ epoch, generation int64 }

func storeOf(epochs oracle.Epochs, w timeline.Write) store {
	return store{epochs.Of(w.ResourceVersion), oracle.Generation(w.ResourceVersion)}
}

// owner of a shoot: its epoch, when it was first seen to serve, and whether it had the shoot from the one before.
type owner struct {
	epoch  int64
	served time.Duration
	handed bool
}

// owners of one shoot, as far as they were seen to serve, in their order.
type owners struct {
	epochs oracle.Epochs
	all    []owner
}

// newest is the last owner; none has epoch 0.
func (o owners) newest() (last owner) {
	if len(o.all) > 0 {
		last = o.all[len(o.all)-1]
	}
	return last
}

// planned is the owner that a fault would have left without a recovery: that of then, or the last of those to whom one after the
// other has handed over since. Who comes after one that had to recover is none, however it came to it.
func (o owners) planned(fault time.Duration) (last owner) {
	for _, next := range o.all {
		if last.epoch != 0 && next.served > fault && !next.handed {
			break
		}
		last = next
	}
	return last
}

func ownersOf(events []timeline.Event, shoot string) owners {
	o, over := owners{epochs: oracle.EpochsOf(events, shoot)}, handOver{}
	serves := func(epoch int64, answered timeline.Moment) {
		if epoch > o.newest().epoch {
			o.all = append(o.all, owner{epoch, time.Duration(answered), over.taken()})
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
				serves(p.Epoch, p.Answered)
			}
		case timeline.Write:
			if p.Outcome == timeline.Acknowledged {
				serves(o.epochs.Of(p.ResourceVersion), p.Answered)
			}
		}
	}
	return o
}
