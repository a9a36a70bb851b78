package measure

import (
	"cmp"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// change is how a shoot has come to an owner, or an etcd to its data.
type change int

const (
	unseen     change = iota // the record does not show it
	handedOver               // by the owner before, whose final snapshot is there
	recovered                // the owner before was lost, or the data of its etcd
)

// handOver follows what the garden says of one shoot, and knows how the next owner comes to it. It was handed over if
// the Migrate of it has succeeded, and is a recovery if that was given up (Aborted), or if an owner on the same seed
// has begun anew without one. A Migrate of which only the beginning was seen may have ended either way.
//
// Outside any seed a shoot comes to life only when nobody has it any more: that is a recovery. What runs outside gives
// its Migrate up when it has ended its epoch with a final snapshot, so that the seed after it was handed the shoot,
// though that gives up the same Migrate, too.
type handOver struct {
	came      change
	migrating bool
	spec      string // the seed that the shoot was bound to in its last Migrate
	begun     bool   // a Migrate has, and nobody has become owner by it yet
	released  bool   // in this Migrate, by what ran outside any seed
}

func (h *handOver) take(p timeline.ShootSeen) {
	is := p.Operation.Type == "Migrate"
	if is && (!h.migrating || p.SpecSeed != h.spec) {
		h.begun, h.came, h.released = true, unseen, false
	}
	h.migrating, h.spec = is, p.SpecSeed
	outside, aborted := p.StatusSeed == constants.SeedOutside, p.Operation.State == "Aborted"
	if is && outside && aborted && !h.released {
		h.begun, h.released = true, true
	}
	if !is || !h.begun {
		return
	}
	switch {
	case p.Operation.State == "Succeeded", h.released:
		h.came = handedOver
	case outside, aborted:
		h.came = recovered
	default:
		h.came = unseen
	}
}

// taken is how the next owner has come to the shoot, on the seed of the one before or on another. The owner after it
// has not come in the same way.
func (h *handOver) taken(stayed bool) change {
	came := h.came
	if !h.begun && stayed {
		came = recovered
	}
	h.begun, h.came = false, unseen
	return came
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

// owner of a shoot, by the etcd that it has: one that has restored its etcd is another. Its generation is -1 while no
// revision of it was seen.
type owner struct {
	store
	seed   string
	served time.Duration // when it was first seen to serve
	came   change
}

// owners of one shoot, as far as they were seen to serve, in their order.
type owners struct {
	epochs oracle.Epochs
	over   handOver
	all    []owner
}

// newest is the last owner; none has epoch 0.
func (o *owners) newest() (last owner) {
	if len(o.all) > 0 {
		last = o.all[len(o.all)-1]
	}
	return last
}

// ownersOf a shoot, by what was seen when it happened, and not when it was recorded.
func ownersOf(events []timeline.Event, shoot string) *owners {
	o := &owners{epochs: oracle.EpochsOf(events, shoot)}
	type look struct {
		at   time.Duration
		take func()
	}
	var looks []look
	for _, e := range events {
		if e.Subject != shoot {
			continue
		}
		switch p := e.Payload.(type) {
		case timeline.ShootSeen:
			looks = append(looks, look{e.At, func() { o.over.take(p) }})
		case timeline.EpochSeen:
			if p.State == "Serving" { // an owner that has only begun may have to begin anew, with another epoch
				at, now := time.Duration(p.Answered), store{p.Epoch, oracle.Generation(p.Revision)}
				if p.Revision == 0 {
					now.generation = -1
				}
				looks = append(looks, look{at, func() { o.serves(now, at) }})
			}
		case timeline.Write:
			if p.Outcome == timeline.Acknowledged {
				at := time.Duration(p.Answered)
				looks = append(looks, look{at, func() { o.serves(storeOf(o.epochs, p), at) }})
			}
		}
	}
	slices.SortStableFunc(looks, func(a, b look) int { return cmp.Compare(a.at, b.at) })
	for _, l := range looks {
		l.take()
	}
	return o
}

func (o *owners) serves(now store, at time.Duration) {
	last, seed := o.newest(), o.seedOf(now.epoch)
	switch {
	case now.epoch == 0 || now.epoch < last.epoch:
	case now.epoch > last.epoch:
		o.all = append(o.all, owner{now, seed, at, o.over.taken(seed != "" && seed == last.seed)})
	case last.generation < 0:
		o.all[len(o.all)-1].generation = now.generation
	case now.generation > last.generation: // its etcd was restored from its backups
		o.all = append(o.all, owner{now, seed, at, recovered})
	}
}

func (o *owners) seedOf(epoch int64) string {
	for _, one := range o.epochs {
		if one.Number == epoch {
			return one.Seed
		}
	}
	return ""
}
