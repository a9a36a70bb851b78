package oracle

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Linearizable promises that the writes to and reads of each key look as if each had happened at one instant between
// its sending and its answer. It is a second opinion on NoLostWrite and SingleWriter, by a checker that knows nothing
// of epochs.
type Linearizable struct {
	// Within bounds the search for an order, of each key, in real time, so that judging is bounded too (it searches twice,
	// once in Judge and once in Lacks); 10 s if not given. A history that is not decided by then is no violation, and
	// proves nothing.
	Within time.Duration
}

var _ Oracle = Linearizable{}

const decideWithin = 10 * time.Second

// Name of the promise.
func (Linearizable) Name() string { return "Linearizable" }

// Lacks what NoLostWrite lacks, for the last reads are those of the data at the end, and a decision on each key. A key
// without an order is named too: Judge may have searched on a busier machine and not have found that out.
func (o Linearizable) Lacks(events []timeline.Event) []string {
	lacks := NoLostWrite{}.Lacks(events)
	for shoot, key := range o.found(events, porcupine.Unknown, porcupine.Illegal) {
		lacks = append(lacks, fmt.Sprintf("in time whether an order explains the %d reads and writes of %s of %s",
			len(key.operations), key.name, shoot))
	}
	return lacks
}

// operation on one key as the checker sees it.
type operation struct {
	write  bool
	number int // written
}

// register is one key: it holds the number that was written last, 0 while absent.
var register = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		if op := input.(operation); op.write {
			return true, op.number
		}
		return state == output, state
	},
}

// Judge each key of each shoot by itself.
func (o Linearizable) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	for shoot, key := range o.found(events, porcupine.Illegal) {
		f.add(key.at, proof(key.events...), "%s: no order of the %d reads and writes of %s explains their answers", shoot,
			len(key.operations), key.name)
	}
	return f.sorted()
}

// found are the keys, by shoot, of which the checker says one of these.
func (o Linearizable) found(events []timeline.Event, results ...porcupine.CheckResult) iter.Seq2[string, *keyHistory] {
	return func(yield func(string, *keyHistory) bool) {
		for _, shoot := range shootsOf(events) {
			for _, key := range operationsByKey(LastLife(events, shoot), shoot) {
				result := porcupine.CheckOperationsTimeout(register, key.operations, cmp.Or(o.Within, decideWithin))
				if slices.Contains(results, result) && !yield(shoot, key) {
					return
				}
			}
		}
	}
}

type keyHistory struct {
	name       string
	at         time.Duration
	events     []int
	operations []porcupine.Operation
}

func operationsByKey(events []timeline.Event, shoot string) []*keyHistory {
	var order []*keyHistory
	keys := map[string]*keyHistory{}
	add := func(e timeline.Event, name string, o porcupine.Operation) {
		if keys[name] == nil {
			keys[name] = &keyHistory{name: name}
			order = append(order, keys[name])
		}
		keys[name].at = e.At
		keys[name].events = append(keys[name].events, e.Seq)
		keys[name].operations = append(keys[name].operations, o)
	}
	for _, e := range events {
		if e.Subject != shoot {
			continue
		}
		switch p := e.Payload.(type) {
		case timeline.Write:
			if p.Outcome != timeline.Failed {
				add(e, p.Key, writing(p))
			}
		case timeline.Read:
			if p.Outcome == timeline.Acknowledged {
				add(e, p.Key, reading(p.Sent, p.Answered, p.Number))
			}
		case timeline.DataSeen:
			numbers := map[string]int{}
			for _, key := range p.Keys {
				numbers[key.Key] = key.Number
			}
			for _, key := range order {
				add(e, key.name, reading(timeline.Moment(e.At), timeline.Moment(e.At), numbers[key.name]))
			}
		}
	}
	return order
}

func writing(w timeline.Write) porcupine.Operation {
	answered := int64(w.Answered)
	if w.Outcome == timeline.Unknown {
		answered = math.MaxInt64 // it may take effect at any time after it was sent
	}
	return porcupine.Operation{Input: operation{write: true, number: w.Number}, Call: int64(w.Sent), Return: answered}
}

func reading(sent, answered timeline.Moment, number int) porcupine.Operation {
	return porcupine.Operation{Input: operation{}, Call: int64(sent), Output: number, Return: int64(answered)}
}
