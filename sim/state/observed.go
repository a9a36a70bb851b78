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
type Observed struct{ facts }

// facts are those of an event Observed. What is missing was not observed, or has not changed.
type facts struct {
	Shoots map[string]expression.Shoot `json:"shoots,omitempty"`
	Seeds  map[string]expression.Seed  `json:"seeds,omitempty"`
	Cloud  *expression.Cloud           `json:"cloud,omitempty"`
}

// Take goes on by one event.
func (o *Observed) Take(p timeline.Observed) error {
	fresh := facts{}
	if err := json.Unmarshal(p.Facts, &fresh); err != nil {
		return fmt.Errorf("read what was observed for %s: %w", p.That, err)
	}
	if p.First || o.Shoots == nil {
		o.facts = facts{Shoots: map[string]expression.Shoot{}, Seeds: map[string]expression.Seed{}}
	}
	maps.Copy(o.Shoots, fresh.Shoots)
	maps.Copy(o.Seeds, fresh.Seeds)
	if fresh.Cloud != nil {
		o.Cloud = fresh.Cloud
	}
	return nil
}

// Changes are what a look has seen that is not known yet, as an event; false if there are none. All that the first look
// sees is a change.
func (o *Observed) Changes(e *expression.Expression, seen expression.Snapshot) (timeline.Observed, bool, error) {
	first := o.Shoots == nil
	changed := facts{Shoots: maps.Clone(seen.Shoots), Seeds: maps.Clone(seen.Seeds)}
	maps.DeleteFunc(changed.Shoots, func(name string, now expression.Shoot) bool {
		known, is := o.Shoots[name]
		return is && same(known, now)
	})
	maps.DeleteFunc(changed.Seeds, func(name string, now expression.Seed) bool {
		known, is := o.Seeds[name]
		return is && same(known, now)
	})
	if e.AsksCloud() && (o.Cloud == nil || !same(*o.Cloud, seen.Cloud)) {
		changed.Cloud = &seen.Cloud
	}
	content, err := json.Marshal(changed)
	if err != nil {
		return timeline.Observed{}, false, fmt.Errorf("marshal what was observed for %s: %w", e, err)
	}
	some := len(changed.Shoots)+len(changed.Seeds) > 0 || changed.Cloud != nil
	return timeline.Observed{That: e.String(), First: first, Facts: content}, first || some, nil
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
	known := expression.Snapshot{Shoots: map[string]expression.Shoot{}, Seeds: map[string]expression.Seed{},
		Cloud: expression.Cloud{Unknown: unknown}}
	for _, name := range e.Shoots() {
		known.Shoots[name] = expression.Shoot{Unknown: unknown}
	}
	for _, name := range e.Seeds() {
		known.Seeds[name] = expression.Seed{Unknown: unknown}
	}
	maps.Copy(known.Shoots, o.Shoots)
	maps.Copy(known.Seeds, o.Seeds)
	if o.Cloud != nil {
		known.Cloud = *o.Cloud
	}
	return known
}
