package contract

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// moving are the steps in which the object changes seeds, on the source.
var moving = []string{Migrate, AfterMigrate, ReconcileAgain, MigrateAgain, DeleteSource}

func cloudStays(e *Evidence) Finding {
	for _, s := range e.tried(moving...) {
		if f := s.acts(); f != nil {
			return *f
		}
	}
	if none := e.external(moving...); none != nil {
		return *none
	}
	return e.seen(Migrate)
}

func keepsObjects(e *Evidence) Finding {
	before, missing := e.steps(Reconcile)
	if missing != nil {
		return *missing
	}
	if len(before[0].Managed) == 0 {
		return noMatter("it has no ManagedResource of the empty class")
	}
	for _, s := range e.tried(Migrate) {
		for _, managed := range s.Managed {
			switch {
			case managed.Deleted && !managed.KeepObjects:
				return breaks("ManagedResource %s was deleted without keepObjects", varies(managed.Name))
			case !managed.Deleted && s.Missing == "":
				return breaks("ManagedResource %s is still there", varies(managed.Name))
			}
		}
	}
	return e.seen(Migrate)
}

func leavesNothing(e *Evidence) Finding {
	steps, missing := e.steps(Migrate)
	if missing != nil {
		return *missing
	}
	if steps[0].Items == nil {
		return unknown("the namespace could not be listed")
	}
	for _, item := range steps[0].Items {
		if !item.Persisted {
			return breaks("%s/%s is left", item.Resource, varies(item.Name))
		}
	}
	return conforms
}

func keepsPersisted(e *Evidence) Finding {
	before, missing := e.steps(Reconcile)
	if missing != nil {
		return *missing
	}
	for _, s := range e.tried(Migrate) {
		was, is := before[0].Persisted, s.Persisted
		if was == nil || is == nil {
			return unknown("the Secrets could not be listed")
		}
		for _, name := range slices.Sorted(maps.Keys(was)) {
			switch {
			case is[name] == "":
				return breaks("Secret %s is gone", varies(name))
			case is[name] != was[name]:
				return breaks("Secret %s was changed", varies(name))
			}
		}
	}
	return e.seen(Migrate)
}

func dropsFinalizers(e *Evidence) Finding {
	steps, missing := e.steps(Migrate)
	if missing != nil {
		return *missing
	}
	if finalizers := steps[0].After.Finalizers; len(finalizers) > 0 {
		return breaks("the migrated object has %s", strings.Join(finalizers, " "))
	}
	return conforms
}

func inOrder(e *Evidence) Finding {
	wrote := false
	for _, s := range e.tried(Migrate) {
		for _, w := range s.own() {
			switch is := *w.After; {
			case !is.Succeeded(typeMigrate) && len(is.Finalizers) < len(s.Before.Finalizers):
				return breaks("the finalizer was taken off while lastOperation was %s/%s", is.LastType, is.LastState)
			case !is.Succeeded(typeMigrate) && is.Operation == "":
				return breaks("the annotation was taken off while lastOperation was %s/%s", is.LastType, is.LastState)
			case is.Operation == "" && len(is.Finalizers) > 0:
				return breaks("the annotation was taken off before the finalizer")
			case is.Succeeded(typeMigrate):
				wrote = true
			}
		}
	}
	if f := e.seen(Migrate); f.Outcome != Conformant || wrote {
		return f
	}
	return unknown("no write of Migrate/Succeeded was seen")
}

func silentAfterwards(e *Evidence) Finding {
	var success *Snapshot
	var earlier, writes []Write
	for _, s := range e.tried(Create, Reconcile) {
		earlier = append(earlier, s.Writes...)
	}
	steps := e.tried(Migrate, AfterMigrate)
	for _, s := range steps {
		writes = append(writes, s.Writes...)
	}
	for i, w := range writes {
		if !w.Took && !w.Cloud { // a call of the cloud was made, refused or not
			continue
		}
		if success != nil {
			switch {
			case w.releases(slices.Concat(earlier, writes[:i])):
			case !w.Own:
				return breaks("after Migrate/Succeeded: %s", w)
			case w.After == nil:
			case w.After.LastUpdated != success.LastUpdated || !w.After.Succeeded(typeMigrate):
				return breaks("after Migrate/Succeeded lastOperation was written again: %s/%s", w.After.LastType, w.After.LastState)
			case !bytes.Equal(w.After.State, success.State) || !bytes.Equal(w.After.Results, success.Results):
				return breaks("after Migrate/Succeeded the status was changed")
			}
			continue
		}
		if w.Own && w.After != nil && w.After.Succeeded(typeMigrate) {
			success = w.After
		}
	}
	_, missing := e.steps(Migrate, AfterMigrate)
	switch {
	case missing != nil:
		return *missing
	case success == nil:
		return unknown("no write of Migrate/Succeeded was seen")
	case steps[1].acts() != nil:
		return *steps[1].acts()
	}
	return scoped(steps...)
}

func stateStays(e *Evidence) Finding {
	steps, missing := e.steps(Reconcile, Migrate)
	if missing != nil {
		return *missing
	}
	was, is := steps[0].After, steps[1].After
	switch {
	case len(was.State) == 0 && len(was.Resources) == 0:
		return noMatter("the object has neither state nor resources")
	case !bytes.Equal(was.State, is.State):
		return breaks("status.state: %s", differs(was.State, is.State))
	case !bytes.Equal(was.Resources, is.Resources):
		return breaks("status.resources: %s", differs(was.Resources, is.Resources))
	}
	return conforms
}

func withoutShoot(e *Evidence) Finding {
	if !e.WithoutShoot {
		return noMatter("the kind migrates while the shoot's API server runs")
	}
	return answered(e, Clean, Migrate)
}

func neverReconciled(e *Evidence) Finding { return answeredElsewhere(e, Never, Migrate) }

func inTime(e *Evidence) Finding {
	s, missing := e.step(Clean, Migrate)
	switch {
	case s != nil && missing != nil:
		return breaks("it was not answered within %s: %s", e.Wait, lack(s.Missing))
	case missing != nil:
		return *missing
	case s.Took > e.Wait:
		return unknown("it was answered after %s, and a gardenlet waits %s; the kit may wait longer", s.Took, e.Wait)
	}
	return conforms
}
