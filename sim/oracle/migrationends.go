package oracle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/wording"
)

// MigrationEnds promises that every migration that begins comes to its end, on the seed that was asked for, and that
// it is still the same shoot, with the certificate authority that its users know
// (docs/specification/migration.md#spec-2-8, docs/specification/migration.md#cpm-2,
// docs/specification/migration.md#cpm-5), with what third-party extensions keep in their state, and with the
// fields that our types do not have.
type MigrationEnds struct{}

var _ Oracle = MigrationEnds{}

// Name of the promise.
func (MigrationEnds) Name() string { return "MigrationEnds" }

// Lacks the state of an extension's object after a move.
func (MigrationEnds) Lacks(events []timeline.Event) []string {
	var lacks []string
	for _, left := range lookAtStates(events, func(_, _ observedState) {}) {
		lacks = append(lacks, fmt.Sprintf("the state of %s of %s after its move", left.Object, left.shoot))
	}
	return lacks
}

// Judge each shoot by its last state, and by what must never change.
func (o MigrationEnds) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	type identity struct {
		uid, technicalID, clusterIdentity, unmodelled string
		seq                                           int
	}
	first, began, end := map[string]identity{}, map[string]timeline.Event{}, map[string]timeline.Event{}
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		end[e.Subject] = e
		if p.Absent {
			delete(first, e.Subject)
			delete(began, e.Subject)
			continue
		}
		if _, is := began[e.Subject]; !is && p.StatusSeed != "" && p.SpecSeed != p.StatusSeed {
			began[e.Subject] = e
		}
		was, is := first[e.Subject], identity{p.UID, p.TechnicalID, p.ClusterIdentity, p.Unmodelled, e.Seq}
		changed := func(what, from, to string) {
			if from != "" && from != to {
				f.add(e.At, proof(was.seq, e.Seq), "%s: %s changes from %q to %q", e.Subject, what, from, to)
			}
		}
		changed("the UID", was.uid, is.uid)
		changed("the technical id", was.technicalID, is.technicalID)
		changed("the cluster identity", was.clusterIdentity, is.clusterIdentity)
		changed("what a newer Gardener knows of its spec", was.unmodelled, is.unmodelled)
		first[e.Subject] = is
	}
	judgeAuthority(&f, events)
	lookAtStates(events, func(was, now observedState) {
		f.add(now.at, proof(was.seq, now.seq),
			"%s: %s on seed %s has another status.state than it had on seed %s before the move; say stateMayChange in the "+
				"extension's file if that is right",
			now.shoot, now.Object, now.Seed, was.Seed)
	})
	if cutShort(events) {
		return f.sorted()
	}
	for shoot, since := range began {
		p := end[shoot].Payload.(timeline.ShootSeen)
		if ended := p.StatusSeed == p.SpecSeed && p.Operation.State == "Succeeded" && p.Operation.Type != "Migrate"; !ended &&
			!p.Deleting {
			what, shownBy := unfinishedOn(events, shoot, p)
			f.add(end[shoot].At, proof(append(shownBy, since.Seq, end[shoot].Seq)...),
				"%s: the migration that began at %s has not ended: bound to %q, running on %q, %s %s %d%% (%s)%s", shoot,
				since.At.Round(time.Millisecond), p.SpecSeed, p.StatusSeed, p.Operation.Type, p.Operation.State,
				p.Operation.Progress, p.Operation.Description, what)
		}
	}
	return f.sorted()
}

// unfinishedOn says what stops a shoot, as far as the Shoot says it and the objects of third-party extensions on its
// seed, and which events show it.
func unfinishedOn(events []timeline.Event, shoot string, at timeline.ShootSeen) (text string, shownBy []int) {
	type seen struct {
		timeline.ExtensionStateSeen
		seq int
	}
	last := map[string]seen{}
	for e, p := range timeline.About[timeline.ExtensionStateSeen](LastLife(events, shoot), shoot) {
		if p.Seed == at.StatusSeed {
			last[p.Object] = seen{p, e.Seq}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		p, is := last[name], ""
		switch {
		case p.Gone || p.Asked == constants.GardenerOperationWaitForState: // the gardenlet has yet to ask
			continue
		case p.Error != "":
			is = "reports: " + wording.Reason(p.Error)
		case p.Asked != "":
			is = fmt.Sprintf("was asked to %s, and has not answered", p.Asked)
		case p.Operation.State == "":
			is = "has no answer"
		case p.Operation.State != "Succeeded":
			is = fmt.Sprintf("is at %s %s", p.Operation.Type, p.Operation.State)
		default:
			continue
		}
		text += fmt.Sprintf("; %s on seed %s %s", name, p.Seed, is)
		shownBy = append(shownBy, p.seq)
	}
	for _, problem := range at.Errors {
		text += "; the Shoot's lastErrors: " + wording.Reason(problem)
	}
	return text, shownBy
}

// judgeAuthority: a shoot is known by one authority. One that is created again under its name is another shoot, and the
// access of the deleted one may still be read after it: each is compared with what its own Shoot has published.
func judgeAuthority(f *findings, events []timeline.Event) {
	type publisher struct{ shoot, uid string }
	type published struct {
		authority string
		seq       int
	}
	known := map[publisher]published{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.ShootSeen:
			if p.Absent {
				delete(known, publisher{shoot: e.Subject}) // without UIDs, only this distinguishes lives
			}
		case timeline.EpochSeen:
			if p.Authority == "" {
				continue
			}
			by := publisher{e.Subject, p.ShootUID}
			if was := known[by]; was.authority != "" && was.authority != p.Authority {
				f.add(e.At, proof(was.seq, e.Seq), "%s: the certificate authority changes from %s to %s", e.Subject, was.authority,
					p.Authority)
			}
			known[by] = published{p.Authority, e.Seq}
		}
	}
}

// cutShort is whether the run did not get to its end: an interrupt, a failure of the harness, or a record that was cut
// off. What had begun by then has had no time to end.
func cutShort(events []timeline.Event) bool {
	_, ended, found := timeline.First[timeline.RunEnded](events)
	return !found || ended.Error != ""
}
