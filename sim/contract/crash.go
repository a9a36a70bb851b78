package contract

import (
	"cmp"
	"fmt"
	"regexp"
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
}

// CrashSteps are the steps in which extensions are killed.
var CrashSteps = []string{Create, Migrate, Restore, Delete}

// ByCrashes is the clause that is judged by crashes alone.
const ByCrashes = "B17"

// Point names the crash point.
func (c Crash) Point() string { return fmt.Sprintf("%s after write %d", c.Step, c.Writes) }

// Final is what an object and its surroundings come to, without what differs by chance: names of namespaces, UIDs,
// versions and times.
type Final struct {
	Missing    string // what the gardenlet still waits for
	Operation  string
	LastType   string
	LastState  string
	LastError  string
	Finalizers string
	// StateKept says that status.state says what it said before the move.
	StateKept bool
	// Cloud counts what the object has in the cloud, by kind.
	Cloud string
	// Items are the objects in the namespace.
	Items string
}

// FinalOf is what a step came to: was is the object before the move, and steps are all that were made for it so far.
func FinalOf(namespace string, was Snapshot, steps []*Step) Final {
	if len(steps) == 0 {
		return Final{Missing: "nothing was asked"}
	}
	last := steps[len(steps)-1]
	final := Final{
		Missing: last.Missing, Operation: last.After.Operation, LastType: last.After.LastType,
		LastState: last.After.LastState, LastError: last.After.LastError,
		Finalizers: strings.Join(last.After.Finalizers, " "), StateKept: string(was.State) == string(last.After.State),
	}
	switch last.After.LastType {
	case typeReconcile, typeCreate: // some go on to reconcile what they have restored, or what they have begun to create
		final.LastType = typeRestore
	}
	final.Cloud = counted(kindsOf(remaining(steps)))
	var items []string
	for _, item := range last.Items {
		items = append(items, item.Resource+"/"+withoutChance(item.Name, namespace))
	}
	slices.Sort(items)
	final.Items = strings.Join(items, " ")
	return final
}

// chance are parts of names that differ by chance: suffixes of generateName, hashes of Pod templates and of contents.
var chance = regexp.MustCompile(`^([bcdfghjklmnpqrstvwxz2456789]{5,10}|[0-9a-f]{8,64})$`)

// withoutChance is a name without what differs from object to object: namespace and name of the shoot, and what chance
// or a hash has made.
func withoutChance(name, namespace string) string {
	name = strings.ReplaceAll(name, namespace, "$namespace")
	ids := strings.Split(namespace, "--")
	parts := strings.Split(word(ids[len(ids)-1]).ReplaceAllString(name, "${1}$$shoot${2}"), "-")
	for i, part := range parts {
		if chance.MatchString(part) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "-")
}

// kindsOf what remains are how many there are of each.
func kindsOf(remaining []string) map[string]int {
	kinds := map[string]int{}
	for _, one := range remaining {
		kind, _, _ := strings.Cut(one, "/")
		kinds[kind]++
	}
	return kinds
}

func counted(kinds map[string]int) string {
	var all []string
	for kind, n := range kinds {
		all = append(all, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Differs says in what a final state differs from the wanted one; empty for nothing. The first is the worst.
func (f Final) Differs(want Final) string {
	_, text := f.differs(want)
	return text
}

// differs names, too, what it is that differs.
func (f Final) differs(want Final) (what, text string) {
	for _, one := range []struct{ what, got, want string }{
		{"the gardenlet waits on", f.Missing, want.Missing},
		{"in the cloud", f.Cloud, want.Cloud},
		{"in the namespace", f.Items, want.Items},
		{"status.state is kept", fmt.Sprint(f.StateKept), fmt.Sprint(want.StateKept)},
		{"lastOperation", f.LastType + "/" + f.LastState, want.LastType + "/" + want.LastState},
		{"lastError", f.LastError, want.LastError},
		{"finalizers", f.Finalizers, want.Finalizers},
		{"the request", f.Operation, want.Operation},
	} {
		if one.got != one.want {
			return one.what, fmt.Sprintf("%s: %q instead of %q", one.what, one.got, one.want)
		}
	}
	return "", ""
}

// Undisturbed is the walk with which a crash in a step is compared.
func Undisturbed(step string) string {
	if step == Delete { // what was restored may leave less behind than what never moved
		return Short
	}
	return Clean
}

// CleanFinal is what the undisturbed walk came to at a step; false if it did not come so far.
func (e *Evidence) CleanFinal(name string) (Final, bool) {
	w := e.Walks[Undisturbed(name)]
	s := w.Step(name)
	before := cmp.Or(w.Step(Reconcile), w.Step(Create))
	if name == Create { // of which what was created first is what there was
		before = s
	}
	if s == nil || s.Missing != "" || before == nil {
		return Final{}, false
	}
	until := slices.Index(w.Steps, s) + 1
	return FinalOf(w.Namespace, before.After, w.Steps[:until]), true
}

// survivesCrashes judges what was tried alone, where a point differs. Each step counts by itself; a break first.
func survivesCrashes(e *Evidence) Finding {
	result := Finding{Outcome: Conformant, Reason: fmt.Sprintf("%d crash points", len(e.Crashes))}
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

// survives says what one try of a point shows. One that differs and was tried alone as well decides nothing.
func (e *Evidence) survives(c Crash, want Final) Finding {
	what, difference := c.Final.differs(want)
	switch {
	case c.Missed:
		return unknown("%s: %s", c.Point(), cmp.Or(c.Final.Missing, "nothing was interrupted"))
	case difference != "" && c.Alone:
		f := breaks("%s: %s", c.Point(), difference)
		f.Way = c.Step + ": " + what
		return f
	case difference != "" && !e.triedAlone(c):
		return unknown("%s: it was not tried alone: %s", c.Point(), difference)
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

func (e *Evidence) triedAlone(point Crash) bool {
	return slices.ContainsFunc(e.Crashes, func(c Crash) bool {
		return c.Alone && !c.Missed && c.Step == point.Step && c.Writes == point.Writes
	})
}
