// Package state folds the timeline into what is known at a moment of a run, and what is not, with the reason.
//
// It is pure: the run decides by it while it goes on, and the judge afterwards, from the same events. It looks at no
// cluster and judges nothing.
package state

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// notObserved is why something is unknown of which no event says anything.
const notObserved = "the record does not say what was observed"

// pace of the events that change nothing of what a condition names: they are for people.
const pace = time.Second

// Observed is what is known for one condition, and the answer by it: what the last event Observed says.
type Observed struct {
	Condition *expression.Expression
	Met       bool
	Why       string
	Unknown   error // why it is not known whether the condition is true

	facts json.RawMessage
	named []any     // the values of what the condition names
	next  time.Time // the next event that is for people
}

// NewObserved for a condition for which nothing was observed yet: whether it is true is unknown.
func NewObserved(condition *expression.Expression) *Observed {
	return &Observed{Condition: condition, Unknown: errors.New(notObserved)}
}

// Take goes on by one event.
func (o *Observed) Take(p timeline.Observed) error {
	all, err := o.snapshot(p)
	if err != nil {
		return err
	}
	o.facts, o.named = p.Facts, o.Condition.Values(all)
	o.Met, o.Why, o.Unknown = o.Condition.Evaluate(all)
	return nil
}

// Next is what an observation has seen, as an event; false if it need not be recorded. The last one records all that is
// new, and others do once a second. In between, only another answer could be: by a value that the condition names.
func (o *Observed) Next(all expression.Snapshot, at time.Time, last bool) (p timeline.Observed, isNew bool, err error) {
	p.That = o.Condition.String()
	if p.Facts, err = json.Marshal(all); err != nil {
		return p, false, fmt.Errorf("marshal what was observed for %s: %w", p.That, err)
	}
	isNew = !bytes.Equal(p.Facts, o.facts)
	if isNew && !last && at.Before(o.next) {
		known, err := o.snapshot(p)
		if err != nil {
			return p, false, err
		}
		isNew = !reflect.DeepEqual(o.Condition.Values(known), o.named)
	}
	if isNew {
		o.next = at.Add(pace)
	}
	return p, isNew, nil
}

// snapshot is what an event says of all that the condition asks for. What it does not say is unknown.
func (o *Observed) snapshot(p timeline.Observed) (all expression.Snapshot, err error) {
	var known expression.Snapshot
	if err := json.Unmarshal(p.Facts, &known); err != nil {
		return all, fmt.Errorf("read what was observed for %s: %w", p.That, err)
	}
	unknown := expression.Unknown{"*": notObserved}
	all = expression.Snapshot{Shoots: map[string]expression.Shoot{}, Seeds: map[string]expression.Seed{},
		Cloud: cmp.Or(known.Cloud, &expression.Cloud{Unknown: unknown})}
	for _, name := range o.Condition.Shoots() {
		all.Shoots[name] = expression.Shoot{Unknown: unknown}
	}
	for _, name := range o.Condition.Seeds() {
		all.Seeds[name] = expression.Seed{Unknown: unknown}
	}
	maps.Copy(all.Shoots, known.Shoots)
	maps.Copy(all.Seeds, known.Seeds)
	return all, nil
}
