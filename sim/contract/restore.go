package contract

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

func stableState(e *Evidence) Finding {
	steps, missing := e.steps(Create, Reconcile)
	if missing != nil {
		return *missing
	}
	first, second := steps[0].After.State, steps[1].After.State
	switch {
	case len(second) == 0:
		return noMatter("the object has no state")
	case json.Unmarshal(second, &map[string]any{}) != nil:
		return breaks("the state is no JSON object: %s", short(second))
	case !bytes.Equal(first, second):
		return breaks("the second reconcile has changed it: %s", differs(first, second))
	}
	return conforms
}

func nothingOfSeed(e *Evidence) Finding {
	steps, missing := e.steps(Reconcile)
	if missing != nil {
		return *missing
	}
	state := string(steps[0].After.State)
	if state == "" {
		return noMatter("the object has no state")
	}
	for _, text := range e.Seeds {
		if word(text).MatchString(state) {
			return breaks("%q stands in the state", varies(text))
		}
	}
	return conforms
}

// word finds a text where it is no part of a longer word, as source is of resources.
func word(text string) *regexp.Regexp {
	return regexp.MustCompile(`(^|[^0-9A-Za-z])` + regexp.QuoteMeta(text) + `($|[^0-9A-Za-z])`)
}

func withoutProviderStatus(e *Evidence) Finding {
	steps, missing := e.steps(Reconcile)
	if missing != nil {
		return *missing
	}
	if within := string(steps[0].After.Results); !strings.Contains(within, `"providerStatus"`) {
		return noMatter("the object has no providerStatus")
	}
	if helped := e.Walks[Clean].Step(RestoreHelped); helped != nil && helped.Missing == "" {
		return breaks("the restore ended only when the object had the providerStatus of the source")
	}
	return e.seen(Restore)
}

func createsNothing(e *Evidence) Finding {
	for _, s := range e.tried(Restore) {
		for _, call := range s.Calls {
			if call.Before != call.After {
				return breaks("%s", call)
			}
		}
	}
	if none := e.external(Restore); none != nil {
		return *none
	}
	return e.seen(Restore)
}

func finalizerFirst(e *Evidence) Finding {
	has := false
	for _, s := range e.tried(Restore) {
		for _, w := range s.Writes {
			switch {
			case w.Cloud && !has: // refused or not: it was called
				return breaks("%s came before the finalizer", w)
			case w.Own && w.After != nil:
				has = has || len(w.After.Finalizers) > 0
			}
		}
	}
	if none := e.external(Restore); none != nil {
		return *none
	}
	if f := e.seen(Restore); f.Outcome != Conformant || has {
		return f
	}
	return breaks("the restored object has no finalizer")
}

func sameResults(e *Evidence) Finding {
	steps, missing := e.steps(Reconcile, Restore)
	if missing != nil {
		return *missing
	}
	was, is := steps[0].After.Results, steps[1].After.Results
	switch {
	case string(was) == "{}" && string(is) == "{}":
		return noMatter("the object has no results in its status")
	case !bytes.Equal(was, is):
		return breaks("%s", differs(was, is))
	}
	return conforms
}

func sameMachines(e *Evidence) Finding {
	steps, missing := e.steps(Reconcile, Restore)
	if missing != nil {
		return *missing
	}
	was, is := steps[0].Machines, steps[1].Machines
	others := slices.DeleteFunc(e.machinesSeen(), func(machine string) bool { return slices.Contains(was, machine) })
	switch {
	case e.Kind != "Worker":
		return noMatter("the kind has no machines")
	case was == nil || is == nil:
		return unknown("the machines could not be listed")
	case len(was) == 0:
		return unknown("no machine was asked for")
	case !slices.Equal(was, is):
		return breaks("the machines were %s, and are %s", varies(strings.Join(was, ", ")),
			varies(strings.Join(is, ", ")))
	case len(others) > 0:
		return breaks("others were there for some time: %s", varies(strings.Join(others, ", ")))
	}
	return conforms
}

// machinesSeen are those that were on the destination at any time until the object was deleted.
func (e *Evidence) machinesSeen() (seen []string) {
	for _, s := range e.tried(WaitForState, Restore, RestoreAgain, ReconcileAfter) {
		seen = append(seen, s.MachinesSeen...)
	}
	slices.Sort(seen)
	return slices.Compact(seen)
}

func restoresTwice(e *Evidence) Finding {
	s, missing := e.step(Clean, RestoreAgain)
	switch {
	case s != nil && missing != nil:
		return breaks("%s", lack(s.Missing))
	case missing != nil:
		return *missing
	case len(s.Calls) > 0:
		return breaks("it has changed the cloud: %s", s.Calls[0])
	case !bytes.Equal(s.Before.State, s.After.State):
		return breaks("status.state: %s", differs(s.Before.State, s.After.State))
	case !sameItems(s, e.Walks[Clean], RestoreAgain):
		return breaks("other objects are in the namespace than before")
	}
	return scoped(s)
}

func reconcilesQuietly(e *Evidence) Finding {
	for _, s := range e.tried(ReconcileAfter) {
		if len(s.Calls) > 0 {
			return breaks("%s", list(s.Calls))
		}
	}
	if none := e.external(ReconcileAfter); none != nil {
		return *none
	}
	return e.seen(ReconcileAfter)
}

func namesRestore(e *Evidence) Finding {
	steps, missing := e.steps(Restore, ReconcileAfter)
	if missing != nil {
		return *missing
	}
	if !slices.ContainsFunc(steps[0].own(), func(w Write) bool { return w.After.Succeeded(typeRestore) }) {
		return breaks("no write of Restore/Succeeded was seen")
	}
	if is := steps[1].After; !is.Succeeded(typeReconcile) {
		return breaks("after a reconcile lastOperation is %s/%s", is.LastType, is.LastState)
	}
	return conforms
}

func removesAll(e *Evidence) Finding {
	if none := e.external(); none != nil {
		return *none
	}
	steps := e.tried(Delete)
	if len(steps) > 0 && steps[0].Missing != "" {
		return breaks("the object is not gone: %s", lack(steps[0].Missing))
	}
	if _, missing := e.steps(Delete); missing != nil {
		return *missing
	}
	if f := scoped(steps...); f.Outcome != Conformant { // one of them may have removed it
		return f
	}
	if rest := remaining(e.Walks[Clean].Steps); len(rest) > 0 {
		return breaks("it is still there: %s", listOf(rest))
	}
	return conforms
}

// remaining is what the calls of the steps have created and not deleted.
func remaining(steps []*Step) []string {
	there := map[string]bool{}
	for _, s := range steps {
		for _, call := range s.Calls {
			there[call.Kind+"/"+call.ID] = call.After
		}
	}
	maps.DeleteFunc(there, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(there))
}

// listOf what remains; its way has the kinds.
func listOf(remaining []string) listed {
	kinds := slices.Sorted(maps.Keys(kindsOf(remaining)))
	return listed{strings.Join(remaining, ", "), strings.Join(kinds, ", ")}
}

func sourceNeverDeletes(e *Evidence) Finding {
	if e.Walks[Clean].Step(Migrate) == nil { // what never moved is deleted where it is
		return e.seen(Migrate)
	}
	source := e.source()
	fromMigrate := slices.Concat(moving, onDestination)
	for _, s := range e.tried(fromMigrate...) {
		for _, call := range s.toChange() {
			deletes := call.Before && !call.After || call.Refused != "" && call.Verb == verbDelete
			if call.Identity == source && deletes {
				return breaks("%s: %s", s.Name, call)
			}
		}
	}
	if none := e.external(fromMigrate...); none != nil {
		return *none
	}
	return e.seen(Migrate)
}

// source is who has called the cloud from the source; empty if nobody has.
func (e *Evidence) source() (identity string) {
	for _, s := range e.tried(slices.Concat([]string{Create, Reconcile}, moving)...) {
		for _, call := range s.Calls {
			identity = call.Identity
		}
	}
	return identity
}

// onDestination are the steps after the object has changed seeds.
var onDestination = []string{WaitForState, Restore, RestoreHelped, RestoreAgain, ReconcileAfter, Delete}

// withoutGarden cannot see what a restore lacks that does not end.
func withoutGarden(e *Evidence) Finding { return e.seen(Restore) }

func withoutSeed(e *Evidence) Finding { return answeredElsewhere(e, NoSeed, Create) }
