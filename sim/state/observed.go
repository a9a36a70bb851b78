// Package state folds the timeline into what is known at a moment of a run, and what is not, with the reason.
//
// It is pure: the run decides by it while it goes on, and the judge afterwards, from the same events. It looks at no
// cluster and judges nothing.
package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// notObserved is why something is unknown of which no event says anything.
const notObserved = "the record does not say what was observed"

// Observed is what is known for one condition: the fold of the events Observed that are about it. The zero value knows
// nothing.
type Observed struct {
	known expression.Snapshot
	any   bool // was observed
}

// Take goes on by one event.
func (o *Observed) Take(p timeline.Observed) error {
	fresh := expression.Snapshot{}
	if err := json.Unmarshal(p.Facts, &fresh); err != nil {
		return fmt.Errorf("read what was observed for %s: %w", p.That, err)
	}
	if p.First || !o.any {
		o.known = expression.Snapshot{Shoots: map[string]expression.Shoot{}, Seeds: map[string]expression.Seed{}}
	}
	maps.Copy(o.known.Shoots, fresh.Shoots)
	maps.Copy(o.known.Seeds, fresh.Seeds)
	o.known.Cloud, o.any = fresh.Cloud, true
	return nil
}

// Changes are what a look has seen that is not known yet, as an event; false if there are none. All that the first look
// sees is a change. The cloud is in every event.
func (o *Observed) Changes(that string, seen expression.Snapshot) (timeline.Observed, bool, error) {
	changed := expression.Snapshot{Shoots: changes(o.known.Shoots, seen.Shoots), Seeds: changes(o.known.Seeds, seen.Seeds),
		Cloud: seen.Cloud}
	content, err := json.Marshal(changed)
	if err != nil {
		return timeline.Observed{}, false, fmt.Errorf("marshal what was observed for %s: %w", that, err)
	}
	isNew := !o.any || len(changed.Shoots)+len(changed.Seeds) > 0 || !same(o.known.Cloud, seen.Cloud)
	return timeline.Observed{That: that, First: !o.any, Facts: content}, isNew, nil
}

func changes[T any](before, now map[string]T) map[string]T {
	changed := maps.Clone(now)
	maps.DeleteFunc(changed, func(name string, is T) bool {
		was, known := before[name]
		return known && same(was, is)
	})
	return changed
}

// same says whether both are the same on the record.
func same(a, b any) bool {
	one, errOne := json.Marshal(a)
	other, errOther := json.Marshal(b)
	return errOne == nil && errOther == nil && bytes.Equal(one, other)
}

// Snapshot is what is known of all that a condition asks for. What was never observed is unknown.
func (o *Observed) Snapshot(e *expression.Expression) expression.Snapshot {
	unknown := expression.Unknown{"*": notObserved}
	all := expression.Snapshot{Shoots: map[string]expression.Shoot{}, Seeds: map[string]expression.Seed{},
		Cloud: expression.Cloud{Unknown: unknown}}
	for _, name := range e.Shoots() {
		all.Shoots[name] = expression.Shoot{Unknown: unknown}
	}
	for _, name := range e.Seeds() {
		all.Seeds[name] = expression.Seed{Unknown: unknown}
	}
	maps.Copy(all.Shoots, o.known.Shoots)
	maps.Copy(all.Seeds, o.known.Seeds)
	if o.any {
		all.Cloud = o.known.Cloud
	}
	return all
}
