package contract

import (
	"slices"
)

// The judges of walks in which something is in the way of the object.

func needsRequest(e *Evidence) Finding {
	s, missing := e.step(Touched, ChangeStatus)
	if missing != nil {
		return *missing
	}
	return quiet(s)
}

func migratesDeleted(e *Evidence) Finding {
	s, missing := e.step(Deleting, MigrateDeleted)
	if s == nil {
		return *missing
	}
	if clean := e.migratesWell(); clean != nil {
		return *clean
	}
	switch f := s.acts(); {
	case len(s.Before.Finalizers) == 0:
		return noMatter("the object has no finalizer: a deletion removes it at once")
	case f != nil:
		return *f
	case s.Missing != "":
		return breaks("the object is not migrated and gone: %s", lack(s.Missing))
	case !slices.ContainsFunc(s.own(), func(w Write) bool { return w.After.LastType == typeMigrate }):
		return breaks("it was deleted without a migrate")
	}
	return scoped(s)
}

func waitsForFailed(e *Evidence) Finding {
	s, missing := e.step(Failed, ReconcileFailed)
	if missing != nil {
		return *missing
	}
	if f := quiet(s); f.Outcome == NonConformant {
		return f
	}
	return answered(e, Failed, Recovered)
}

func withoutCloud(e *Evidence) Finding {
	if none := e.external(); none != nil {
		return *none
	}
	if clean := e.migratesWell(); clean != nil {
		return *clean
	}
	s, _ := e.step(Bare, MigrateRefused)
	f := answered(e, Bare, MigrateRefused)
	switch reads := e.Walks[Clean].Step(Migrate).CloudRequests; {
	case f.Outcome == NonConformant && reads > 0:
		return unknown("it reads the cloud in migrate: something outside may be needed: %s", f.Reason)
	case f.Outcome == Conformant && s.CloudRequests == 0:
		return noMatter("its migrate asks nothing of the cloud")
	}
	return f
}

// migratesWell is nil if the undisturbed migrate ends, and changes nothing in the cloud: else a disturbed one cannot.
func (e *Evidence) migratesWell() *Finding {
	if _, missing := e.steps(Migrate, DeleteSource); missing != nil {
		return missing
	}
	if f := cloudStays(e); f.Outcome == NonConformant {
		return new(unknown("an undisturbed migrate breaks B1: %s", f.Reason))
	}
	return nil
}

func earlyState(e *Evidence) Finding {
	if none := e.external(); none != nil {
		return *none
	}
	first, missing := e.step(Early, Create)
	if missing != nil {
		return *missing
	}
	if f := createsNothing(e); f.Outcome == NonConformant {
		return unknown("a restore from the last state breaks D1: %s", f.Reason)
	}
	if _, missing := e.steps(Restore); missing != nil {
		return *missing
	}
	if len(first.After.State) == 0 && len(first.Calls) == 0 {
		return noMatter("the object has no state")
	}
	s, missing := e.step(Early, Restore)
	switch {
	case s != nil && missing != nil:
		return breaks("from the state after the first reconcile it does not end: %s", lack(s.Missing))
	case missing != nil:
		return *missing
	}
	for _, call := range s.Calls {
		if call.Before != call.After {
			return breaks("from the state after the first reconcile: %s", call)
		}
	}
	return scoped(s)
}

func withoutState(e *Evidence) Finding {
	if none := e.external(); none != nil {
		return *none
	}
	first, missing := e.step(Lost, Create)
	if missing != nil {
		return *missing
	}
	if len(first.After.State) == 0 {
		return noMatter("the object has no state")
	}
	if f := createsNothing(e); f.Outcome == NonConformant {
		return unknown("a restore with the state breaks D1: %s", f.Reason)
	}
	w := e.Walks[Lost]
	i := slices.IndexFunc(w.Steps, func(s *Step) bool { return s.Name == RestoreLost })
	if i >= 0 {
		before, after := remaining(w.Steps[:i]), remaining(w.Steps)
		for _, one := range before {
			if !slices.Contains(after, one) {
				return breaks("the restore has deleted %s", one)
			}
		}
		was, is := kindsOf(before), kindsOf(after)
		for kind, n := range is {
			if n > max(was[kind], 1) {
				return breaks("there were %d of %s, and are %d", was[kind], kind, n)
			}
		}
	}
	s, missing := e.step(Lost, RestoreLost)
	if missing != nil {
		return *missing
	}
	return scoped(s)
}

func deletesAfterError(e *Evidence) Finding {
	s, missing := e.step(Refused, RestoreRefused)
	if missing != nil {
		return *missing
	}
	erred := func(w Write) bool { return w.After.LastState == failed }
	switch {
	case s.After.Succeeded(typeRestore):
		return noMatter("its restore succeeds though the cloud refuses it")
	case s.After.LastState != failed && !slices.ContainsFunc(s.own(), erred): // it may have begun to try again
		return unknown("no error of the restore was seen")
	}
	if f := removesAll(e); f.Outcome == NonConformant {
		return unknown("a deletion after a restore breaks E1: %s", f.Reason)
	}
	if f := answered(e, Refused, Delete); f.Outcome != Conformant {
		return f
	}
	if rest := remaining(e.Walks[Refused].Steps); len(rest) > 0 {
		return breaks("it is still there: %s", listOf(rest))
	}
	return scoped(e.Walks[Refused].Steps...)
}

func staysStuck(e *Evidence) Finding {
	if none := e.external(Create); none != nil {
		return *none
	}
	if first, _ := e.step(Stuck, CreateStuck); first != nil && first.After.LastState == succeeded {
		return noMatter("its reconcile succeeds though the cloud refuses it: it was never stuck")
	}
	s, missing := e.step(Stuck, Thaw)
	switch {
	case missing != nil:
		return *missing
	case s.CloudRequests == 0:
		return unknown("the source has not tried again while the kit waited")
	}
	for _, call := range s.toChange() {
		if call.Identity == e.source() {
			return breaks("after the restore the source calls the cloud to change it: %s", call)
		}
	}
	return scoped(s)
}
