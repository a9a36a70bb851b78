package measure

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Recovery says how far a shoot's longest recovery had come, and when: seconds from the fault that it is measured
// from, by moment. What was not seen, or has not to do with another owner to whom the one before had not handed over,
// is absent: moments of a planned move between the fault and the loss are none of the recovery.
//
//	recovery.detected        the shoot was bound to another seed, or its migration given up
//	recovery.ownerMoved      the new owner stood in DNS
//	recovery.etcdRestored    the new owner's guard let requests pass
//	recovery.firstWrite      the new owner acknowledged a write, or, without a load, was reached; this is the RTO
//	recovery.extensions      the Restore had succeeded
//	recovery.steady          nothing moved any more after the last heal
//
// With several shoots the names have the shoot in front, as "alpha.recovery.detected".
func Recovery(events []timeline.Event) map[string]float64 {
	all := map[string]float64{}
	names := shoots(events)
	for _, shoot := range names {
		prefix := "recovery."
		if len(names) > 1 {
			prefix = fmt.Sprintf("%s.recovery.", shoot)
		}
		since, moments := RecoveryOf(events, shoot)
		for moment, at := range moments {
			if at >= since {
				all[prefix+moment] = Seconds(at - since)
			}
		}
	}
	return all
}

// RecoveryOf are the moments of one shoot's longest recovery, by the names that Recovery uses, as moments of the run,
// and the fault that it is measured from; none if there was no recovery.
func RecoveryOf(events []timeline.Event, shoot string) (since time.Duration, moments map[string]time.Duration) {
	worst, any := comebacksOf(events, shoot).worst()
	if !any {
		return 0, nil
	}
	return worst.cause.At, worst.moments(events, shoot)
}

func (c comeback) moments(events []timeline.Event, shoot string) map[string]time.Duration {
	r := &recovery{
		shoot: shoot, since: max(c.cause.At, c.lost.served), epoch: c.lost.epoch,
		moments: map[string]time.Duration{"firstWrite": c.at},
	}
	// Nobody was to detect it, or to take the shoot over; outside any seed an operator does both when they like.
	if !c.byAnother() || c.next.seed == constants.SeedOutside {
		return r.moments
	}
	for _, e := range events {
		r.take(e)
	}
	return r.moments
}

type recovery struct {
	shoot   string
	since   time.Duration // the fault, or, if later, when the owner that was lost had begun to serve
	bound   string        // to which seed, before that
	epoch   int64         // of the owner that was lost
	moments map[string]time.Duration
}

// note keeps the first time of a moment.
func (r *recovery) note(moment string, at time.Duration) {
	if _, known := r.moments[moment]; !known && at >= r.since {
		r.moments[moment] = at
	}
}

func (r *recovery) take(e timeline.Event) {
	switch p := e.Payload.(type) {
	case timeline.ShootSeen:
		if e.Subject == r.shoot {
			r.takeShoot(e.At, p)
		}
	case timeline.CloudCalled:
		if p.Took && p.What == "records" && strings.HasPrefix(p.Name, "owner."+r.shoot+".") {
			r.note("ownerMoved", time.Duration(p.Made))
		}
	case timeline.EpochSeen:
		if e.Subject == r.shoot && p.State == "Serving" && r.epoch != 0 && p.Epoch > r.epoch {
			r.note("etcdRestored", time.Duration(p.Answered))
		}
	case timeline.Settled:
		if p.Converged {
			r.note("steady", cmp.Or(time.Duration(p.Since), e.At))
		}
	}
}

func (r *recovery) takeShoot(at time.Duration, p timeline.ShootSeen) {
	if at < r.since {
		r.bound = p.SpecSeed
		return
	}
	if p.SpecSeed != r.bound || (p.Operation.Type == "Migrate" && p.Operation.State == "Aborted") {
		r.note("detected", at)
	}
	// Before anybody has begun to recover it, this is about an earlier Restore.
	_, detected := r.moments["detected"]
	_, restored := r.moments["etcdRestored"]
	if (detected || restored) && arrived(p) {
		r.note("extensions", at)
	}
}
