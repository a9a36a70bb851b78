package contract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

func waitsForState(e *Evidence) Finding {
	s, missing := e.step(Clean, WaitForState)
	switch {
	case missing != nil:
		return *missing
	case len(s.Writes) > 0:
		return breaks("it has written: %s", list(s.Writes))
	case s.CloudRequests > 0:
		return breaks("it has called the cloud %d times", s.CloudRequests)
	}
	if _, missing := e.steps(Restore); missing != nil {
		return *missing // who restores nothing does not wait for a state
	}
	return scoped(s)
}

func usesState(e *Evidence) Finding {
	if s := e.Walks[Clean].Step(Restore); s != nil && s.Missing != "" {
		return breaks("the restore does not end: %s", lack(s.Missing))
	}
	steps, missing := e.steps(Restore)
	if missing != nil {
		return *missing
	}
	was, before, is := steps[0].Handed, steps[0].Before.State, steps[0].After.State
	switch {
	case e.StateMayChange:
		return noMatter("the file says stateMayChange")
	case len(was) == 0:
		return noMatter("the object has no state")
	case !bytes.Equal(was, before):
		return breaks("status.state is another one before the restore is asked for: %s", differs(was, before))
	case !bytes.Equal(was, is):
		return breaks("status.state is another one after the restore: %s", differs(was, is))
	}
	return conforms
}

func answersFirst(e *Evidence) Finding {
	s, missing := e.step(Clean, Reconcile)
	if s != nil && missing != nil {
		return breaks("the gardenlet's wait does not end: %s", lack(s.Missing))
	}
	if missing != nil {
		return *missing
	}
	for _, w := range s.Writes {
		if !w.Took {
			continue
		}
		if !w.Own {
			return breaks("%s came before the annotation was taken off", w)
		}
		if w.After == nil {
			return unknown("the answer to %s does not have the object", w)
		}
		if w.After.Operation == "" {
			return conforms
		}
		switch {
		case !bytes.Equal(w.After.State, s.Before.State) || !bytes.Equal(w.After.Results, s.Before.Results):
			return breaks("the status was changed before the annotation was taken off")
		case w.After.LastState == processing: // that it begins, which is no act
		case w.After.LastUpdated != s.Before.LastUpdated || w.After.LastState != s.Before.LastState:
			return breaks("lastOperation %s/%s was written before the annotation was taken off", w.After.LastType,
				w.After.LastState)
		}
	}
	return unknown("no write of it was seen")
}

// typeOf an operation is that of its answer.
var typeOf = map[string]string{Migrate: typeMigrate, Restore: typeRestore}

func keepsRequest(e *Evidence) Finding {
	for _, s := range e.tried(Migrate, Restore) {
		ofType, last := typeOf[s.Name], s.Before
		for _, w := range s.own() {
			is := *w.After
			if is.LastState == failed && last.LastState != failed && is.LastError == "" {
				return breaks("%s: lastOperation is Error without a lastError", s.Name)
			}
			if is.Operation == "" {
				early := e.Kind == "Infrastructure" && ofType == typeRestore && is.LastType == ofType && is.LastState != failed
				if !is.Succeeded(ofType) && !early {
					return breaks("%s: the annotation was taken off while lastOperation was %s/%s", s.Name, is.LastType,
						is.LastState)
				}
				break
			}
			last = is
		}
	}
	return e.seen(Migrate, Restore)
}

func observes(e *Evidence) Finding {
	seen := 0
	for _, name := range []string{Create, Reconcile, Migrate, Restore, ReconcileAfter} {
		s := e.Walks[Clean].Step(name)
		if s == nil {
			continue
		}
		last := s.Before
		for _, w := range s.own() {
			is := *w.After
			wrote := is.LastUpdated != last.LastUpdated || is.LastState != last.LastState || is.LastType != last.LastType
			if wrote && (is.LastState == succeeded || is.LastState == failed) {
				if seen++; is.Observed != is.Generation {
					return breaks("%s: %s/%s has observedGeneration %d, and the object generation %d", name, is.LastType,
						is.LastState, is.Observed, is.Generation)
				}
			}
			last = is
		}
	}
	if seen == 0 {
		return unknown("no success and no error was seen")
	}
	return conforms
}

func namesOperation(e *Evidence) Finding {
	for _, s := range e.tried(Migrate, Restore) {
		ofType, last := typeOf[s.Name], s.Before
		for _, w := range s.own() {
			is := *w.After
			if is.LastType != last.LastType && is.LastType != ofType {
				return breaks("%s: lastOperation became %s/%s", s.Name, is.LastType, is.LastState)
			}
			if last = is; is.Succeeded(ofType) {
				break
			}
		}
		if s.Missing == "" && !last.Succeeded(ofType) {
			return breaks("%s: lastOperation never was %s/Succeeded", s.Name, ofType)
		}
	}
	return e.seen(Migrate, Restore)
}

func ignoresOthers(e *Evidence) Finding {
	s, missing := e.step(Foreign, Create)
	if missing != nil {
		return *missing
	}
	for _, w := range s.Writes {
		if w.Own {
			return breaks("it has answered an object of another type: %s", w)
		}
	}
	if f := s.acts(); f != nil {
		return *f
	}
	if _, missing := e.steps(Create); missing != nil {
		return *missing // who reconciles nothing ignores no type
	}
	if others := s.others(); len(others) > 0 {
		return unknown("it has written in the namespace, maybe for another reason: %s", list(others))
	}
	return scoped(s)
}

func leavesAlone(e *Evidence) Finding {
	s, missing := e.step(Clean, ReconcileAgain)
	if missing != nil {
		return *missing
	}
	return quiet(s)
}

// verbDelete is that of a call that deletes something in the cloud.
const verbDelete = "delete"

// toChange are the calls that have changed the cloud, and those that it has refused.
func (s *Step) toChange() []Call { return slices.Concat(s.Calls, s.Refused) }

// acts breaks a clause by which the extension does nothing in the cloud; nil if it has not tried to. What the cloud has
// refused counts, too: it may carry it out another time, and only the simulated one knows which seed has the shoot.
// Clauses about what becomes of the cloud look at Calls instead: who creates what is there already, and takes it over
// after the refusal, keeps those.
func (s *Step) acts() *Finding {
	calls := s.toChange()
	if len(calls) == 0 {
		return nil
	}
	return new(breaks("%s: it calls the cloud to change it: %s", s.Name, list(calls)))
}

// quiet says whether nothing was written but that requests and finalizers were taken off.
func quiet(s *Step) Finding {
	if f := s.acts(); f != nil {
		return *f
	}
	if others := s.others(); len(others) > 0 {
		return breaks("%s: it has written: %s", s.Name, list(others))
	}
	for _, w := range s.own() {
		is := *w.After
		if is.LastUpdated != s.Before.LastUpdated || is.LastType != s.Before.LastType || is.LastState != s.Before.LastState {
			return breaks("%s: lastOperation became %s/%s", s.Name, is.LastType, is.LastState)
		}
		if len(is.Finalizers) > len(s.Before.Finalizers) {
			return breaks("%s: it has set a finalizer: %s", s.Name, strings.Join(is.Finalizers, " "))
		}
		if !bytes.Equal(is.State, s.Before.State) || !bytes.Equal(is.Results, s.Before.Results) {
			return breaks("%s: it has changed the status", s.Name)
		}
	}
	return scoped(s)
}

func goesAtOnce(e *Evidence) Finding {
	s, missing := e.step(Clean, DeleteSource)
	switch {
	case s != nil && missing != nil:
		return breaks("the object is not gone: %s", lack(s.Missing))
	case missing != nil:
		return *missing
	case s.acts() != nil:
		return *s.acts()
	}
	return scoped(s)
}

func comesBack(e *Evidence) Finding { return answered(e, Back, Restore) }

// answeredElsewhere says whether the first step of a walk was answered. It breaks nothing by itself that no object is
// answered.
func answeredElsewhere(e *Evidence, walk, name string) Finding {
	f := answered(e, walk, name)
	if _, missing := e.step(Clean, Create); f.Outcome == NonConformant && missing != nil {
		return unknown("%s", f.Reason)
	}
	return f
}

// answered says whether the step of a walk was answered.
func answered(e *Evidence, walk, name string) Finding {
	s, missing := e.step(walk, name)
	switch {
	case s != nil && missing != nil:
		return breaks("%s", lack(s.Missing))
	case missing != nil:
		return *missing
	}
	return conforms
}

func repeats(e *Evidence) Finding {
	for _, again := range []struct{ name, ofType string }{{MigrateAgain, typeMigrate}, {RestoreAgain, typeRestore}} {
		s, missing := e.step(Clean, again.name)
		switch {
		case s != nil && missing != nil:
			return breaks("%s: %s", again.name, lack(s.Missing))
		case missing != nil:
			return *missing
		case len(s.Calls) > 0:
			return breaks("%s: it has changed the cloud: %s", again.name, s.Calls[0])
		case again.ofType == typeMigrate && !s.After.Succeeded(typeMigrate):
			return breaks("%s: lastOperation became %s/%s", again.name, s.After.LastType, s.After.LastState)
		case again.ofType == typeMigrate && len(s.After.Finalizers) > 0:
			return breaks("%s: the object has finalizers: %s", again.name, strings.Join(s.After.Finalizers, " "))
		case !bytes.Equal(s.Before.State, s.After.State):
			return breaks("%s: status.state became another one", again.name)
		case !sameItems(s, e.Walks[Clean], again.name):
			return breaks("%s: other objects are in the namespace than before", again.name)
		}
	}
	return scoped(e.tried(MigrateAgain, RestoreAgain)...)
}

// sameItems says whether the step ended with what the step that it repeats had left in the namespace.
func sameItems(s *Step, w *Walk, name string) bool {
	first := w.Step(strings.TrimSuffix(name, "-again"))
	return first == nil || first.Items == nil || s.Items == nil || slices.Equal(first.Items, s.Items)
}

// most of a list that a reason shows.
const most = 3

// list shows the first of several; its way is that of the very first: how many there are is chance.
func list[T interface {
	String() string
	way() string
}](all []T) listed {
	if len(all) == 0 {
		return listed{}
	}
	var texts []string
	for _, one := range all[:min(len(all), most)] {
		texts = append(texts, one.String())
	}
	if more := len(all) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return listed{strings.Join(texts, ", "), all[0].way()}
}

// differs shows the beginning of two documents.
func differs(was, is []byte) varies {
	return varies(fmt.Sprintf("it was %s, and is %s", short(was), short(is)))
}

func short(content []byte) varies {
	const longest = 120
	if len(content) == 0 {
		return "nothing"
	}
	if len(content) > longest {
		return varies(content[:longest]) + "…"
	}
	return varies(content)
}
