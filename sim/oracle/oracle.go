// Package oracle judges timelines: one promise per file, each a pure function of the events. An oracle has no context,
// no client, no clock and no dice; judging the same timeline again gives the same violations.
//
// To add an oracle, write its file with a table of short histories, at least one of which it must reject, and add it
// to All and, in a sentence for people, to promises. What was not seen is unknown, and never a violation; an oracle
// says what it lacks, so that a run in which nothing was seen does not pass for a good one.
package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Oracle is a promise that can be judged.
type Oracle interface {
	// Name of the promise, as it stands in scenarios.
	Name() string
	// Judge finds the moments at which the promise was broken.
	Judge(events []timeline.Event) []Violation
	// Lacks says which evidence is missing, without which nothing found means nothing.
	Lacks(events []timeline.Event) []string
}

// Violation is a broken promise.
type Violation struct {
	Oracle  string
	At      time.Duration // of the event that shows it
	Message string
	// Events that prove it, by their Seq, in order.
	Events []int
}

// All oracles, by name.
func All() []Oracle {
	return []Oracle{
		CloudEmptied{}, CloudUntouched{}, Linearizable{}, MigrationEnds{}, NoCircle{}, NodesPreserved{}, NoFalseAlarm{},
		NoLostMachine{}, NoLostWrite{}, NoNeedlessMove{}, NoOrphans{}, Revisions{}, ShootUntouched{}, SingleWriter{},
	}
}

// Names of all oracles.
func Names() []string {
	var names []string
	for _, o := range All() {
		names = append(names, o.Name())
	}
	return names
}

// Find an oracle by name.
func Find(name string) (Oracle, bool) {
	for _, o := range All() {
		if o.Name() == name {
			return o, true
		}
	}
	return nil, false
}

// Unseen is what an oracle lacks, and what any oracle does: a shoot that was ready, and what the garden says of each.
func Unseen(o Oracle, events []timeline.Event) (lacks []string) {
	shoots, last := shootsOf(events), state.Of(events).Shoots
	if len(shoots) == 0 {
		lacks = append(lacks, "any shoot that was ready")
	}
	for _, shoot := range shoots {
		if _, seen := last[shoot]; !seen {
			lacks = append(lacks, "the Shoot "+shoot+" in the garden")
		}
	}
	return append(lacks, o.Lacks(events)...)
}

// findings collects the violations of one oracle.
type findings struct {
	oracle string
	found  []Violation
}

func (f *findings) add(at time.Duration, proof []int, format string, arguments ...any) {
	f.found = append(f.found, Violation{f.oracle, at, fmt.Sprintf(format, arguments...), proof})
}

// proof by events, given by their Seq; 0 stands for none.
func proof(events ...int) []int {
	events = slices.DeleteFunc(events, func(seq int) bool { return seq == 0 })
	slices.Sort(events)
	return slices.Compact(events)
}

func (f *findings) sorted() []Violation {
	slices.SortStableFunc(f.found, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return f.found
}
