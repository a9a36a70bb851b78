package measure

import (
	"cmp"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// comeback is one recovery: an owner of a shoot, or the data of its etcd, was lost after a fault, and the shoot answers
// again.
type comeback struct {
	cause      timeline.Event // the fault from which on it is measured
	lost, next owner
	answered   timeline.Event // by which the shoot answered first
	at         time.Duration  // of that answer
	took       time.Duration  // without the times at which the shoot was hibernated
}

// byAnother says that another owner has recovered the shoot, and not the one that it had.
func (c comeback) byAnother() bool { return c.next.epoch > c.lost.epoch }

// comebacks of one shoot.
type comebacks struct {
	all []comeback
	// unknown says that the shoot has got an owner after a fault of which the record does not show whether it was
	// handed over, or how long it took until somebody had an answer.
	unknown bool
	// open says that an owner was lost, and that nothing shows that the shoot has answered since.
	open bool
}

// worst is the longest recovery, if there was any.
func (c comebacks) worst() (worst comeback, any bool) {
	for _, one := range c.all {
		if !any || one.took > worst.took {
			worst, any = one, true
		}
	}
	return worst, any
}

// comebacksOf a shoot that somebody has followed: who comes after an owner may have had the shoot handed over.
func comebacksOf(events []timeline.Event, shoot string) (found comebacks) {
	faults := costlyFaults(events)
	if len(faults) == 0 || !isFollowed(events, shoot) {
		return found
	}
	owners := ownersOf(events, shoot)
	away, _ := absences(events, shoot)
	for i := 1; i < len(owners.all); i++ {
		lost, next := owners.all[i-1], owners.all[i]
		if next.came == handedOver || faults[0].At > next.served {
			continue
		}
		if next.came == unseen {
			found.unknown = true
			continue
		}
		l := loss{shoot: shoot, epochs: owners.epochs, lost: lost, next: next, certain: next.served}
		if at, seen := givenUp(events, shoot, lost.served, next.served); seen && l.byAnother() {
			l.certain = at
		}
		if !l.look(events, faults) {
			found.unknown = true
			continue
		}
		cause, any := causeOf(faults, l.good, min(l.silent, l.certain))
		if !any { // one failed attempt before the fault is no sign
			cause, any = causeOf(faults, l.good, l.certain)
		}
		switch {
		case !any: // it was lost before any fault
		case !l.back:
			found.open = true
		default:
			took := total(Interval{cause.At, l.answered.at}.Without(away))
			found.all = append(found.all, comeback{cause, lost, next, l.answered.event, l.answered.at, took})
		}
	}
	return found
}

// givenUp is when the migration of a shoot was last given up between two moments.
func givenUp(events []timeline.Event, shoot string, from, to time.Duration) (at time.Duration, seen bool) {
	was := false
	for e, p := range timeline.About[timeline.ShootSeen](events, shoot) {
		is := p.Operation.Type == "Migrate" && p.Operation.State == "Aborted"
		if is && !was && e.At > from && e.At <= to {
			at, seen = e.At, true
		}
		was = is
	}
	return at, seen
}

// answer of a shoot's API to who asks, or that there was none.
type answer struct {
	event    timeline.Event
	sent, at time.Duration
	good     bool
	store    store // of a write that was acknowledged
}

// writesAs answers, in the order in which they were sent. A write that was refused for what it says is none.
func writesAs(events []timeline.Event, shoot string, epochs oracle.Epochs) (all []answer) {
	for e, w := range timeline.About[timeline.Write](events, shoot) {
		if refusedForItsContent(w) {
			continue
		}
		one := answer{event: e, sent: time.Duration(w.Sent), at: time.Duration(w.Answered)}
		if w.Outcome == timeline.Acknowledged {
			one.good, one.store = true, storeOf(epochs, w)
		}
		all = append(all, one)
	}
	return inOrder(all)
}

// attemptsAs answers, in the order in which they were sent.
func attemptsAs(events []timeline.Event, shoot string) (all []answer) {
	for e, p := range timeline.About[timeline.Reached](events, shoot) {
		all = append(all, answer{event: e, sent: time.Duration(p.Sent), at: time.Duration(p.Answered),
			good: p.Outcome == timeline.Acknowledged})
	}
	return inOrder(all)
}

func inOrder(all []answer) []answer {
	slices.SortStableFunc(all, func(a, b answer) int { return cmp.Compare(a.sent, b.sent) })
	return all
}
