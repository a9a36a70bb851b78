// Package profile says where the work of a run went: processor time and wake-ups by program, requests and bytes by
// actor, verb and resource, in each phase. It reads the record alone. It does not judge, and explains no single second:
// the landscape's counters are read between steps.
package profile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Phases of a run, in their order. One that the run did not have is absent.
const (
	Landscape = "landscape" // until the landscape is ready
	SetUp     = "set up"    // until the scenario's shoots are
	AtRest    = "at rest"   // until the first step that changes something
	Recovery  = "recovery"  // until the last step has ended
	Settling  = "settling"  // until everything has been healed, has settled, and was looked at for the last time
)

// Phase is the work in one phase.
type Phase struct {
	Name     string    `json:"name"`
	Seconds  float64   `json:"seconds"`
	Programs []Program `json:"programs"`
	Links    []Link    `json:"links"`
	Requests []Request `json:"requests"`
}

// Program is what the processes of a program have used.
type Program struct {
	Program string `json:"program"`
	// Parent is the program that started it: processnode, if it is in a pod. It is empty for the engine.
	Parent     string  `json:"parent,omitempty"`
	CPUSeconds float64 `json:"cpuSeconds"`
	WakeUps    int64   `json:"wakeUps"`
}

// Link is what has crossed the links of an actor to a target.
type Link struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Requests int64  `json:"requests"`
	Bytes    int64  `json:"bytes"` // in both directions, on the wire
}

// Request is how often an actor has sent requests of one kind to a target.
type Request struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	Requests int64  `json:"requests"`
}

// Of is the profile of a run; nil if its counters were not recorded. Everything is sorted by cost, the highest first.
func Of(events []timeline.Event) []Phase {
	before, since := timeline.CostSeen{}, time.Duration(0)
	var phases []Phase
	for _, b := range boundaries(events) {
		phase := between(before, b.seen)
		phase.Name, phase.Seconds = b.phase, (b.at - since).Seconds()
		phases = append(phases, phase)
		before, since = b.seen, b.at
	}
	return phases
}

// boundary is the end of a phase.
type boundary struct {
	phase string
	at    time.Duration
	seen  timeline.CostSeen
}

// unchanging are the steps that change nothing: until another one, the landscape is at rest.
var unchanging = []string{"load", "wait", "expect"}

// boundaries are the last looks at the counters in each phase.
func boundaries(events []timeline.Event) []boundary {
	phase, steps := Landscape, lastStep(events)
	var ends []boundary
	for i, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			if phase == AtRest && !slices.Contains(unchanging, p.Verb) {
				phase = Recovery
			}
		case timeline.CostSeen:
			b := boundary{phase, e.At, p}
			if n := len(ends); n > 0 && ends[n-1].phase == phase {
				ends[n-1] = b
			} else {
				ends = append(ends, b)
			}
			switch {
			case phase == Landscape:
				phase = SetUp
			case phase == SetUp:
				phase = AtRest
			case i > steps:
				phase = Settling
			}
		}
	}
	return ends
}

// lastStep is the index of the event with which the last step ended; none has, if it is that behind the last event.
func lastStep(events []timeline.Event) int {
	for i, e := range slices.Backward(events) {
		if _, ended := e.Payload.(timeline.StepEnded); ended {
			return i
		}
	}
	return len(events)
}

// between two looks. What was not seen before counts from its start, and so does a counter that has become smaller.
func between(before, after timeline.CostSeen) Phase {
	phase := Phase{Programs: programs(before.Processes, after.Processes)}
	links := map[[2]string]timeline.LinkSeen{}
	for _, l := range before.Links {
		links[[2]string{l.From, l.To}] = l
	}
	for _, l := range after.Links {
		b := links[[2]string{l.From, l.To}]
		if l.Requests < b.Requests {
			b = timeline.LinkSeen{}
		}
		bytes := l.BytesToServer + l.BytesToClient - b.BytesToServer - b.BytesToClient
		if l.Requests > b.Requests || bytes > 0 {
			phase.Links = append(phase.Links, Link{From: l.From, To: l.To, Requests: l.Requests - b.Requests, Bytes: bytes})
		}
		phase.Requests = append(phase.Requests, requests(b, l)...)
	}
	phase.sort()
	return phase
}

// requests that have crossed a link between two looks.
func requests(before, after timeline.LinkSeen) []Request {
	counted := map[Request]int64{}
	for _, k := range before.Kinds {
		counted[Request{Verb: k.Verb, Resource: k.Resource}] = k.Requests
	}
	var all []Request
	for _, k := range after.Kinds {
		n := k.Requests - counted[Request{Verb: k.Verb, Resource: k.Resource}]
		if n > 0 {
			all = append(all, Request{From: after.From, To: after.To, Verb: k.Verb, Resource: k.Resource, Requests: n})
		}
	}
	return all
}

func (p Phase) sort() {
	slices.SortFunc(p.Programs, func(a, b Program) int {
		return cmp.Or(cmp.Compare(b.CPUSeconds, a.CPUSeconds), strings.Compare(a.Program, b.Program),
			strings.Compare(a.Parent, b.Parent))
	})
	slices.SortFunc(p.Links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	slices.SortFunc(p.Requests, func(a, b Request) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To),
			strings.Compare(a.Resource, b.Resource), strings.Compare(a.Verb, b.Verb))
	})
}
