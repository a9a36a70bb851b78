package measure

import (
	"math"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// observer is who has filled a shoot before it was ready. Those writes are no load.
const observer = "observer"

// loss of an owner, or of the data of its etcd, and what the shoot has answered before and after it.
type loss struct {
	shoot      string
	epochs     oracle.Epochs
	lost, next owner
	certain    time.Duration // when the owner was lost for sure

	good, silent time.Duration // the last good answer before it, and the first attempt after that without one
	answered     answer        // the first good one after it
	back         bool          // there was one
}

func (l *loss) byAnother() bool { return l.next.epoch > l.lost.epoch }

// isAfter says of a store that it is that of the next owner, or a later one.
func (l *loss) isAfter(s store) bool {
	return s.epoch > l.next.epoch || s.epoch == l.next.epoch && s.generation >= l.next.generation
}

// look at what the shoot has answered: to the writes of a load that goes on when the owner is lost, and else to who
// tries to reach its API. It says whether the record shows that.
func (l *loss) look(events []timeline.Event, faults []timeline.Event) bool {
	l.good, l.silent = l.lost.served, math.MaxInt64
	writes := writesAs(events, l.shoot, l.epochs)
	before, loaded := false, isLoadedFrom(events, l.shoot, faults, l.certain)
	for _, w := range writes {
		if w.good && !l.isAfter(w.store) {
			before, loaded = true, loaded || w.event.Actor != observer
		}
	}
	if loaded {
		l.lookAtWrites(writes)
		return before // else nobody knows who acknowledged writes before
	}
	return l.lookAtAttempts(attemptsAs(events, l.shoot))
}

// isLoadedFrom says that a load was asked for before one of the faults that began until a moment.
func isLoadedFrom(events []timeline.Event, shoot string, faults []timeline.Event, until time.Duration) bool {
	for e, p := range timeline.About[timeline.StepStarted](events, shoot) {
		if p.WritesPerSecond == 0 {
			continue
		}
		for _, f := range faults {
			if e.At <= f.At && f.At <= until {
				return true
			}
		}
	}
	return false
}

func (l *loss) lookAtWrites(writes []answer) {
	for _, w := range writes {
		if w.good && l.isAfter(w.store) && (!l.back || w.at < l.answered.at) {
			l.answered, l.back = w, true
		}
	}
	var sent time.Duration
	for _, w := range writes {
		if w.good && !l.isAfter(w.store) && (!l.back || w.at < l.answered.at) {
			l.good, sent = max(l.good, w.at), max(sent, w.sent)
		}
	}
	for _, w := range writes {
		if !w.good && w.sent >= sent && w.at > l.good {
			l.silent = min(l.silent, w.at)
		}
	}
}

// lookAtAttempts finds the outage that has ended when the next owner was seen to serve, or ends first after that. Who
// answers is not known: before it was the owner that was lost, and afterwards the next one. It says whether somebody
// tried all the time.
func (l *loss) lookAtAttempts(all []answer) bool {
	end := -1
	for i, a := range all {
		if a.good && a.at >= l.next.served {
			end = i
			break
		}
	}
	if end < 0 {
		return len(all) > 0
	}
	isOfLoss := func(i int) bool { return i >= 0 && all[i].at > l.lost.served }
	first := end
	for isOfLoss(first-1) && all[first-1].good {
		first--
	}
	l.back = true
	begin := first - 1
	if !isOfLoss(begin) { // it answered all the time
		l.answered = all[end]
		return first < end && isTriedThroughout(all[first:end+1])
	}
	for isOfLoss(begin-1) && !all[begin-1].good {
		begin--
	}
	l.answered, l.silent = all[first], all[begin].at
	if begin > 0 && all[begin-1].good {
		l.good = max(l.good, all[begin-1].at)
	}
	return isTriedThroughout(all[max(begin-1, 0) : first+1])
}

func isTriedThroughout(all []answer) bool {
	for i := 1; i < len(all); i++ {
		if all[i].sent-all[i-1].at > blindAfter {
			return false
		}
	}
	return true
}
