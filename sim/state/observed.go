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

// Observed is what is known for one condition: what the last event Observed says. The zero value knows nothing.
type Observed struct {
	facts json.RawMessage
	known expression.Snapshot
}

// Take goes on by one event.
func (o *Observed) Take(p timeline.Observed) error {
	known := expression.Snapshot{}
	if err := json.Unmarshal(p.Facts, &known); err != nil {
		return fmt.Errorf("read what was observed for %s: %w", p.That, err)
	}
	o.facts, o.known = p.Facts, known
	return nil
}

// Next is what a look has seen, as an event; false if nothing is new.
func (o *Observed) Next(that string, seen expression.Snapshot) (timeline.Observed, bool, error) {
	facts, err := json.Marshal(seen)
	if err != nil {
		return timeline.Observed{}, false, fmt.Errorf("marshal what was observed for %s: %w", that, err)
	}
	return timeline.Observed{That: that, Facts: facts}, !bytes.Equal(facts, o.facts), nil
}

// Snapshot is what is known of all that a condition asks for. What was never observed is unknown.
func (o *Observed) Snapshot(e *expression.Expression) expression.Snapshot {
	unknown := expression.Unknown{"*": notObserved}
	all := expression.Snapshot{Shoots: map[string]expression.Shoot{}, Seeds: map[string]expression.Seed{},
		Cloud: &expression.Cloud{Unknown: unknown}}
	for _, name := range e.Shoots() {
		all.Shoots[name] = expression.Shoot{Unknown: unknown}
	}
	for _, name := range e.Seeds() {
		all.Seeds[name] = expression.Seed{Unknown: unknown}
	}
	maps.Copy(all.Shoots, o.known.Shoots)
	maps.Copy(all.Seeds, o.known.Seeds)
	if o.known.Cloud != nil {
		all.Cloud = o.known.Cloud
	}
	return all
}
