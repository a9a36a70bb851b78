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
	"reflect"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// notObserved is why something is unknown of which no event says anything.
const notObserved = "the record does not say what was observed"

// pace of the events that change nothing of what a condition names: they are for people.
const pace = time.Second

// Observed is what is known for one condition, and the answer by it: what the last event Observed says. Before the
// first there is no answer.
type Observed struct {
	Condition *expression.Expression
	Met       bool
	Why       string
	Unknown   error // why it is not known whether the condition is true

	facts json.RawMessage
	known expression.Snapshot
	next  time.Time // the next event that is for people
}

// Take goes on by one event.
func (o *Observed) Take(p timeline.Observed) error {
	known := expression.Snapshot{}
	if err := json.Unmarshal(p.Facts, &known); err != nil {
		return fmt.Errorf("read what was observed for %s: %w", p.That, err)
	}
	o.facts, o.known = p.Facts, known
	o.Met, o.Why, o.Unknown = o.Condition.Evaluate(o.Snapshot())
	return nil
}

// Next is what a look has seen, as an event; false if it need not be recorded. The last look records all that is new,
// and others do once a second. In between, only another answer could be: by a field that the condition names.
func (o *Observed) Next(all expression.Snapshot, at time.Time, last bool) (p timeline.Observed, isNew bool, err error) {
	p.That = o.Condition.String()
	if p.Facts, err = json.Marshal(all); err != nil {
		return p, false, fmt.Errorf("marshal what was observed for %s: %w", p.That, err)
	}
	isNew = !bytes.Equal(p.Facts, o.facts)
	if isNew && !last && at.Before(o.next) {
		fields := o.Condition.Fields()
		isNew = !reflect.DeepEqual(named(fields, p.Facts), named(fields, o.facts))
	}
	if isNew {
		o.next = at.Add(pace)
	}
	return p, isNew, nil
}

// named is what the facts say of these fields and of the cloud, and which are unknown, but not why.
func named(fields []string, facts json.RawMessage) (part struct {
	Shoots, Seeds map[string]map[string]any
	Cloud         map[string]any
}) {
	_ = json.Unmarshal(facts, &part) // it is what was marshalled
	objects := slices.AppendSeq(slices.Collect(maps.Values(part.Shoots)), maps.Values(part.Seeds))
	for _, object := range objects {
		maps.DeleteFunc(object, func(name string, _ any) bool { return name != "unknown" && !slices.Contains(fields, name) })
	}
	for _, object := range append(objects, part.Cloud) {
		unknown, _ := object["unknown"].(map[string]any)
		for field := range unknown {
			unknown[field] = nil
		}
	}
	return part
}

// Snapshot is what is known of all that the condition asks for. What was never observed is unknown.
func (o *Observed) Snapshot() expression.Snapshot {
	unknown := expression.Unknown{"*": notObserved}
	all := expression.Snapshot{Shoots: map[string]expression.Shoot{}, Seeds: map[string]expression.Seed{},
		Cloud: &expression.Cloud{Unknown: unknown}}
	for _, name := range o.Condition.Shoots() {
		all.Shoots[name] = expression.Shoot{Unknown: unknown}
	}
	for _, name := range o.Condition.Seeds() {
		all.Seeds[name] = expression.Seed{Unknown: unknown}
	}
	maps.Copy(all.Shoots, o.known.Shoots)
	maps.Copy(all.Seeds, o.known.Seeds)
	if o.known.Cloud != nil {
		all.Cloud = o.known.Cloud
	}
	return all
}
