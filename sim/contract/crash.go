package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Crash is what became of an object whose extension was killed when it had made a number of writes.
type Crash struct {
	Step   string // one of CrashSteps
	Writes int    // that were let through before
	// Final is what was there at the end.
	Final Final
	// Alone says that this is from a run in which no other object was in work.
	Alone bool
	// Missed says that the extension never came to a further write, so that nothing was interrupted.
	Missed bool
	// Ended says that the object had its answer before the crash and made no write for a while. Passed is how many it had
	// made.
	Ended  bool
	Passed int
}

// CrashSteps are the steps in which extensions are killed.
var CrashSteps = []string{Create, Migrate, Restore, Delete}

// ByCrashes is the clause that is judged by crashes alone.
const ByCrashes = "B17"

// Point names the crash point.
func (c Crash) Point() string { return fmt.Sprintf("%s after write %d", c.Step, c.Writes) }

// AcceptShortages takes points for tried at which the object has ended with fewer writes than the undisturbed one, if
// another object has ended the step with as many: then their number varies, and the crash was after all of them.
func (e *Evidence) AcceptShortages() {
	for i := range e.Crashes {
		if c := &e.Crashes[i]; c.Missed && c.Ended && e.endsAs(*c) {
			c.Missed = false
		}
	}
}

// endsAs says whether another object has ended the step with as many writes: that of another point, or one with nothing
// in its way up to the end of the step.
func (e *Evidence) endsAs(c Crash) bool {
	if slices.ContainsFunc(e.Crashes, func(o Crash) bool {
		return o.Step == c.Step && o.Writes != c.Writes && o.Ended && o.Passed == c.Passed
	}) {
		return true
	}
	if c.Step != Create && c.Step != Migrate {
		return false // what comes before differs
	}
	return slices.ContainsFunc(createdAlike, func(walk string) bool {
		s := e.Walks[walk].Step(c.Step)
		return s != nil && s.Missing == "" && s.Written() == c.Passed
	})
}

// survivesCrashes judges what was tried alone, where a point differs. Each step counts by itself; a break first.
func survivesCrashes(e *Evidence) Finding {
	distinct := map[string]bool{}
	for _, c := range e.Crashes {
		distinct[c.Point()] = true
	}
	result := Finding{Outcome: Conformant, Reason: fmt.Sprintf("%d crash points", len(distinct))}
	var points []PointFinding
	var open []string
	if len(e.CrashSteps) == 0 {
		return unknown("no crash was tried")
	}
	for _, name := range e.CrashSteps {
		f := e.survivesCrashesOf(name)
		points = append(f.Points, points...)
		switch {
		case f.Outcome == Unknown:
			open = append(open, f.Reason)
		case f.Open != "":
			open = append(open, f.Open)
		}
		if f.Outcome != Conformant && result.Outcome != NonConformant {
			result = f
		}
	}
	if w := e.Walks[Clean]; w != nil && result.Outcome == Conformant { // a plan may be without it
		if f := scoped(w.Steps...); f.Outcome != Conformant {
			result = f
		}
	}
	if result.Outcome == NonConformant {
		result.Open = strings.Join(open, "; ")
	}
	result.Points = points
	return result
}

func (e *Evidence) survivesCrashesOf(step string) Finding {
	want, reached := e.CleanFinal(step)
	if !reached {
		_, missing := e.step(Undisturbed(step), step)
		return *missing
	}
	tried, open, broken := 0, []string{}, []Finding{}
	var points []PointFinding
	for _, c := range e.Crashes {
		if c.Step != step {
			continue
		}
		tried++
		f := e.survives(c, want)
		switch f.Outcome {
		case NonConformant:
			broken = append(broken, f)
		case Unknown:
			open = append(open, f.Reason)
		}
		points = withPoint(points, PointFinding{c.Point(), c.Step, c.Writes, f})
	}
	result, unseen := conforms, ""
	if len(open) > 0 {
		unseen = fmt.Sprintf("%d of %d crash points do not show it: %s", len(open), tried,
			strings.Join(open[:min(len(open), most)], "; "))
	}
	switch {
	case tried == 0:
		result = unknown("no crash of %s was tried", step)
	case len(broken) > 0:
		result = broken[0]
		result.Open = unseen
	case unseen != "":
		result = unknown("%s", unseen)
	}
	result.Points = points
	return result
}

// survives says what one try of a point shows. One that differs and was tried alone as well breaks nothing: that try
// does, or it leaves open why they differ. One that has interrupted nothing counts for nothing if the other has.
func (e *Evidence) survives(c Crash, want Final) Finding {
	what, difference := e.differs(c, want)
	switch {
	case c.Missed && (c.Final.Missing != "" || len(e.alone(c)) == 0):
		return unknown("%s: %s", c.Point(), cmp.Or(c.Final.Missing, "nothing was interrupted"))
	case c.Missed: // the other try shows it
	case difference != "" && c.Alone:
		f := breaks("%s: %s", c.Point(), difference)
		f.Way = c.Step + ": " + what
		return f
	case difference != "" && len(e.alone(c)) == 0:
		return unknown("%s: it was not tried alone: %s", c.Point(), difference)
	case difference != "" && !e.differsAlone(c, want):
		return unknown("%s: it differed once, and not alone: %s", c.Point(), difference)
	}
	return conforms
}

// withPoint adds what a try of a point shows; the graver counts of two tries of the same.
func withPoint(points []PointFinding, p PointFinding) []PointFinding {
	i := slices.IndexFunc(points, func(other PointFinding) bool { return other.Point == p.Point })
	switch {
	case i < 0:
		return append(points, p)
	case p.Outcome == NonConformant || points[i].Outcome == Conformant:
		points[i] = p
	}
	return points
}

// alone are the tries of a point in which no other object was in work.
func (e *Evidence) alone(point Crash) []Crash {
	return slices.DeleteFunc(slices.Clone(e.Crashes), func(c Crash) bool {
		return !c.Alone || c.Missed || c.Step != point.Step || c.Writes != point.Writes
	})
}

func (e *Evidence) differsAlone(point Crash, want Final) bool {
	return slices.ContainsFunc(e.alone(point), func(c Crash) bool {
		_, difference := e.differs(c, want)
		return difference != ""
	})
}
