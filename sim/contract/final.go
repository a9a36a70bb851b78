package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Final is what an object and its surroundings come to, without what differs by chance: names of namespaces, UIDs,
// versions and times.
type Final struct {
	Missing    string // what the gardenlet still waits for
	Operation  string
	LastType   string
	LastState  string
	LastError  string
	Finalizers string
	// StateKept and ResultsKept say that status.state and the results are what they were before the move.
	StateKept, ResultsKept bool
	// State and Results are the values in both of what was created, by path. Nil for what was there before.
	State, Results Values
	// Cloud counts what the object has in the cloud, by kind.
	Cloud string
	// Items are the objects in the namespace.
	Items string
	// Machines says how many there are, how many of them were there before the move, and how many others have been seen.
	// Empty for other kinds than Worker.
	Machines string
}

// FinalOf is what a step came to: was is the step before the move, nil if the object is new, and steps are all that
// were made for it so far.
func FinalOf(namespace string, was *Step, steps []*Step) Final {
	if len(steps) == 0 {
		return Final{Missing: "nothing was asked"}
	}
	last := steps[len(steps)-1].settled()
	final := Final{
		Missing: last.Missing, Operation: last.After.Operation, LastType: last.After.LastType,
		LastState: last.After.LastState, LastError: last.After.LastError,
		Finalizers: strings.Join(last.After.Finalizers, " "), Machines: machinesOf(was, last),
	}
	if was == nil {
		final.State, final.Results = valuesOf(last.After.State, namespace), valuesOf(last.After.Results, namespace)
	} else {
		final.StateKept = string(was.After.State) == string(last.After.State)
		final.ResultsKept = string(was.After.Results) == string(last.After.Results)
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

// settled is the step with what it came to in the end, as far as somebody looked.
func (s *Step) settled() *Step { return cmp.Or(s.Settled, s) }

func machinesOf(was, last *Step) string {
	if last.Machines == nil {
		return ""
	}
	text := fmt.Sprint(len(last.Machines))
	if was == nil {
		return text
	}
	isOther := func(machine string) bool { return !slices.Contains(was.Machines, machine) }
	kept := slices.DeleteFunc(slices.Clone(last.Machines), isOther)
	others := slices.DeleteFunc(slices.Clone(last.MachinesSeen), func(machine string) bool { return !isOther(machine) })
	return fmt.Sprintf("%s, of those before %d of %d, seen others %d", text, len(kept), len(was.Machines), len(others))
}

// chance are parts of names that differ by chance: suffixes of generateName, hashes of Pod templates and of contents.
var chance = regexp.MustCompile(`^([bcdfghjklmnpqrstvwxz2456789]{5,10}|[0-9a-f]{8,64})$`)

// withoutChance is a name without what differs from object to object: namespace and name of the shoot, and what chance
// or a hash has made.
func withoutChance(name, namespace string) string {
	parts := strings.Split(withoutNames(name, namespace), "-")
	for i, part := range parts {
		if chance.MatchString(part) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "-")
}

// withoutNames is a text without namespace and name of the shoot.
func withoutNames(text, namespace string) string {
	text = strings.ReplaceAll(text, namespace, "$namespace")
	ids := strings.Split(namespace, "--")
	return word(ids[len(ids)-1]).ReplaceAllString(text, "${1}$$shoot${2}")
}

// Values are those of a document that have no others in them, by path.
type Values map[string]string

func valuesOf(document []byte, namespace string) Values {
	values := Values{}
	var content any
	if len(document) > 0 && json.Unmarshal(document, &content) == nil {
		values.add("", content, namespace)
	}
	return values
}

func (v Values) add(path string, content any, namespace string) {
	switch c := content.(type) {
	case map[string]any:
		for key, inner := range c {
			v.add(path+"."+withoutNames(key, namespace), inner, namespace)
		}
	case []any:
		for i, inner := range c {
			v.add(fmt.Sprintf("%s[%d]", path, i), inner, namespace)
		}
	case string:
		v[path] = moment.ReplaceAllString(withoutNames(c, namespace), "$$time")
	case float64:
		v[path] = moment.ReplaceAllString(strconv.FormatFloat(c, 'f', -1, 64), "$$time")
	default:
		v[path] = fmt.Sprint(c)
	}
}

// moment is a time, also in seconds since 1970. What is made at once may have the same by chance.
var moment = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(Z|[+-][0-9:]+)?|[0-9]{10,}(\.[0-9]+)?`)

// enough objects show what all have alike: what is drawn from a few values is alike in two by chance.
const enough = 5

// differs says in what values differ from those of objects with nothing in their way. What not all of those have, or
// have alike, is chance. If there are few objects, it says what is missing or more; one alone does not show even that.
func (v Values) differs(undisturbed []Values) string {
	if len(undisturbed) < 2 {
		return ""
	}
	counts, alike := map[string]int{}, map[string]bool{}
	for _, one := range undisturbed {
		for path, value := range one {
			counts[path]++
			alike[path] = value == undisturbed[0][path] && (counts[path] == 1 || alike[path])
		}
	}
	var varying []string // what has others in it from object to object
	for path, n := range counts {
		if n < len(undisturbed) {
			varying = append(varying, shared(path, undisturbed))
		}
	}
	for path := range v {
		if counts[path] == 0 && !slices.ContainsFunc(varying, func(one string) bool { return isIn(path, one) }) {
			counts[path] = 0
		}
	}
	for _, path := range slices.Sorted(maps.Keys(counts)) {
		switch got, has := v[path]; {
		case counts[path] == 0:
			return fmt.Sprintf("%s is there", path)
		case counts[path] == len(undisturbed) && !has:
			return fmt.Sprintf("%s is missing", path)
		case len(undisturbed) >= enough && counts[path] == len(undisturbed) && alike[path] && got != undisturbed[0][path]:
			return fmt.Sprintf("%s is %q instead of %q", path, short([]byte(got)), short([]byte(undisturbed[0][path])))
		}
	}
	return ""
}

// shared is the longest beginning of a path that all have something in.
func shared(path string, all []Values) string {
	for path != "" {
		path = path[:strings.LastIndexAny(path, ".[")]
		lacks := func(one Values) bool {
			return !slices.ContainsFunc(slices.Collect(maps.Keys(one)), func(other string) bool { return isIn(other, path) })
		}
		if !slices.ContainsFunc(all, lacks) {
			break
		}
	}
	return path
}

// isIn says that a path is below another, or the same.
func isIn(path, above string) bool {
	rest, is := strings.CutPrefix(path, above)
	return is && (rest == "" || strings.ContainsAny(rest[:1], ".["))
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

// Differs says in what the end of a crash differs from what the undisturbed walk came to; empty for nothing, or if that
// did not come so far. The first is the worst.
func (e *Evidence) Differs(c Crash) string {
	want, reached := e.CleanFinal(c.Step)
	if !reached {
		return ""
	}
	_, text := e.differs(c, want)
	return text
}

// differs names, too, what it is that differs.
func (e *Evidence) differs(c Crash, want Final) (what, text string) {
	f := c.Final
	for _, one := range []struct{ what, got, want string }{
		{"the gardenlet waits on", f.Missing, want.Missing},
		{"in the cloud", f.Cloud, want.Cloud},
		{"in the namespace", f.Items, want.Items},
		{"machines", f.Machines, want.Machines},
		{"status.state is kept", fmt.Sprint(f.StateKept), fmt.Sprint(want.StateKept)},
		{"the results are kept", fmt.Sprint(f.ResultsKept), fmt.Sprint(want.ResultsKept)},
		{"lastOperation", f.LastType + "/" + f.LastState, want.LastType + "/" + want.LastState},
		{"lastError", f.LastError, want.LastError},
		{"finalizers", f.Finalizers, want.Finalizers},
		{"the request", f.Operation, want.Operation},
	} {
		if one.got != one.want {
			return one.what, fmt.Sprintf("%s: %q instead of %q", one.what, one.got, one.want)
		}
	}
	if want.State == nil {
		return "", ""
	}
	var states, results []Values
	for _, walk := range createdAlike {
		if s, missing := e.step(walk, Create); missing == nil {
			states = append(states, valuesOf(s.settled().After.State, e.Walks[walk].Namespace))
			results = append(results, valuesOf(s.settled().After.Results, e.Walks[walk].Namespace))
		}
	}
	if difference := f.State.differs(states); difference != "" {
		return ofState, ofState + ": " + difference
	}
	if difference := f.Results.differs(results); difference != "" {
		return ofResults, ofResults + ": " + difference
	}
	return "", ""
}

// What differs in values.
const ofState, ofResults = "status.state", "the results"

// IsOfValues says that a finding of this way compares a new object with several (Compared), because one does not show
// which of its values are chance.
func IsOfValues(way string) bool { return way == Create+": "+ofState || way == Create+": "+ofResults }

// createdAlike are the walks in which an object is created with nothing in its way.
var createdAlike = []string{Clean, Short, Back, Touched, Deleting, Failed, Bare, Early, Lost, Refused}

// Compared are the steps of a walk with which crashes are compared.
func Compared(walk string) (steps []string) {
	for _, step := range CrashSteps {
		if Undisturbed(step) == walk || step == Create && slices.Contains(createdAlike, walk) {
			steps = append(steps, step)
		}
	}
	return steps
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
	if s == nil || s.Missing != "" {
		return Final{}, false
	}
	before := cmp.Or(w.Step(Reconcile), w.Step(Create))
	if name == Create {
		before = nil
	} else if before == nil {
		return Final{}, false
	}
	until := slices.Index(w.Steps, s) + 1
	return FinalOf(w.Namespace, before, w.Steps[:until]), true
}
