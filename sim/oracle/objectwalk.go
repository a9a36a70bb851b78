package oracle

import (
	"fmt"
	"slices"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// asked is what steps have asked for that changes objects in the shoot.
type asked struct {
	applied, removed []timeline.ObjectRef
	// updated says that the Shoot or its CloudProfile was changed, or that nodes were chosen for their update: what
	// Gardener keeps in the shoot changes with it, and nodes do.
	updated bool
}

// objectWalk goes through a record for the objects of one shoot.
type objectWalk struct {
	shoot    string
	passages []passage
	missing  []string
	followed followed

	last    *objectLook
	seen    timeline.ShootSeen
	known   bool   // seen at all
	home    string // the seed at the last look
	moved   bool   // since the last look
	leaving bool   // it is deleted
	lossy   bool
	faults  map[string]bool // at work
	done    asked
	waited  bool // something was awaited since the last step that changes something
	resting bool // the steps are over
	final   bool // there was a look after them
}

func walkObjects(events []timeline.Event, shoot string) *objectWalk {
	w := &objectWalk{shoot: shoot, faults: map[string]bool{}}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.FaultInjected:
			w.faults[e.Subject], w.lossy = true, true
		case timeline.FaultHealed:
			delete(w.faults, e.Subject)
		case timeline.StepStarted:
			w.takeStep(e, p)
		case timeline.StepEnded:
			w.waited = w.waited || (p.Verb == "expect" || p.Verb == "wait") && p.Outcome == timeline.StepDone
		case timeline.Settling:
			w.resting = true
		}
		if e.Subject != shoot {
			continue
		}
		w.followed.take(e.Payload)
		switch p := e.Payload.(type) {
		case timeline.ShootSeen:
			w.takeShoot(p)
		case timeline.ObjectsSeen:
			if !w.leaving {
				w.takeLook(objectLookOf(e, p))
			}
		case timeline.ShootReady:
			switch {
			case w.last == nil:
				w.lack("the objects of " + shoot + " before anything happens to it")
			case p.BackedUp: // what was seen by now
				w.last.saved, w.last.backedUp = w.last.objects, true
			}
		}
	}
	for probe, class := range map[string]string{timeline.NodesOf(shoot): nodesClass,
		timeline.WorkloadOf(shoot): podsClass} {
		for _, look := range w.followed.looks {
			blind := blindAtEnd(events, probe)
			look.expectNot(func(key objectKey) bool { return blind && key.class == class && look.open[key] })
		}
	}
	return w
}

func (w *objectWalk) lack(what string) { w.missing = append(w.missing, what) }

func (w *objectWalk) takeStep(e timeline.Event, p timeline.StepStarted) {
	if p.Refused || e.Subject != w.shoot && e.Subject != "" { // a cloud profile is of every shoot
		return
	}
	switch p.Verb {
	case "create":
		w.begin()
	case "delete":
		w.leave()
	case "apply":
		if p.Object != nil {
			w.done.applied, w.waited = append(w.done.applied, *p.Object), false
		}
	case "remove":
		if p.Object != nil {
			w.done.removed, w.waited = append(w.done.removed, *p.Object), false
		}
	case "patch", "reschedule", "select":
		w.done.updated, w.waited = true, false
	}
}

// begin a life: what was before is of another shoot.
func (w *objectWalk) begin() {
	w.last, w.home, w.moved, w.leaving, w.done = nil, "", false, false, asked{}
}

// leave: from here on its objects go with it.
func (w *objectWalk) leave() {
	if w.moved && !w.leaving && w.seen.SpecSeed == w.seen.StatusSeed {
		w.lack("the objects of " + w.shoot + " after its move, before it was deleted")
	}
	w.leaving = true
}

func (w *objectWalk) takeShoot(p timeline.ShootSeen) {
	w.known = true
	switch {
	case p.Absent:
		w.followed.forget()
		w.begin()
	case p.Deleting:
		w.leave()
	case p.StatusSeed != "" && (p.SpecSeed != p.StatusSeed || w.home != "" && p.StatusSeed != w.home):
		w.moved = true
	}
	w.seen = p
}

func (w *objectWalk) takeLook(now *objectLook) {
	w.followed.look(now)
	if before := w.last; before != nil {
		w.moved = w.moved || before.generation != now.generation
		now.backedUp = before.backedUp || w.moved && !w.lossy
		for key, saved := range before.saved {
			if now.same(key, saved) {
				now.saved[key] = saved
			}
		}
		if w.moved {
			w.passages = append(w.passages, passage{before: before, after: now, lossy: w.lossy, done: w.done})
		}
		if w.moved && !w.lossy { // its final snapshot had all that was there
			for key, object := range before.objects {
				if now.same(key, object) {
					now.saved[key] = object
				}
			}
		}
	}
	w.last, w.home, w.moved, w.lossy, w.final = now, w.seen.StatusSeed, false, len(w.faults) > 0, w.resting
	if w.waited { // what was asked for is done
		w.done = asked{}
	}
}

// lacks says which looks are missing, and what could not be read in those that count.
func (w *objectWalk) lacks() []string {
	lacks := w.missing
	switch {
	case !w.known:
		lacks = append(lacks, "the Shoot "+w.shoot+" in the garden")
	case w.leaving || w.seen.Absent:
	case w.seen.Hibernated || w.seen.WantsToSleep:
		if w.moved {
			lacks = append(lacks, "the objects of "+w.shoot+" after its move: it sleeps")
		}
	case !w.final:
		lacks = append(lacks, "the objects of "+w.shoot+" after it had settled")
	}
	for _, look := range w.followed.looks {
		for _, what := range look.missing() {
			lacks = append(lacks, fmt.Sprintf("%s in %s, where it must be, by event %d", what, w.shoot, look.event.Seq))
		}
	}
	for _, p := range w.passages {
		if p.lossy && !p.before.backedUp {
			lacks = append(lacks, "which objects of "+w.shoot+" were in a backup before its move")
		}
		for _, part := range slices.Concat(p.before.unreadable, p.after.unreadable) {
			lacks = append(lacks, part+" in "+w.shoot)
		}
		for _, class := range p.unread() {
			lacks = append(lacks, class+" in "+w.shoot+" after its move")
		}
		for _, class := range p.unreadBefore() {
			lacks = append(lacks, class+" in "+w.shoot+" before its move")
		}
	}
	slices.Sort(lacks)
	return slices.Compact(lacks)
}
