package model

import (
	"fmt"
	"strings"
)

// Result of a check.
type Result struct {
	// Failed is the property that does not hold, "" if all do.
	Failed Property
	// Trace is a shortest way there.
	Trace []Step
	// States that were seen, and the length of the longest shortest way to one.
	States, Depth int
	// Complete: nothing was left out within the bounds.
	Complete bool
	// Answered holds who has answered clients under which epoch: the model is not vacuous.
	Answered map[Answer]bool
}

// Step of a trace.
type Step struct{ Who, What, After string }

// Answer is that a seat has answered under an epoch.
type Answer struct {
	Seat  string
	Epoch int
}

// String prints the trace, a step a line.
func (r Result) String() string {
	var b strings.Builder
	if r.Failed != "" {
		fmt.Fprintf(&b, "%s fails after %d steps: %s\n", r.Failed, len(r.Trace)-1, meaning[r.Failed])
	}
	for n, step := range r.Trace {
		fmt.Fprintf(&b, "%3d  %-2s %-66s %s\n", n, step.Who, step.What, step.After)
	}
	return b.String()
}

// search is a breadth-first walk through all states.
type search struct {
	model  *Model
	number map[state]int32
	states []state
	from   []origin
	result Result
}

type origin struct {
	state int32
	who   int8
	what  string
}

// Check walks through the states, at most limit of them, and stops at the first that breaks a property.
func (m *Model) Check(limit int) Result {
	c := &search{model: m, number: map[state]int32{}, result: Result{Answered: map[Answer]bool{}}}
	c.add(m.start(), origin{state: -1, who: -1, what: "the start"})
	level := 1
	for at := 0; at < len(c.states) && c.result.Failed == ""; at++ {
		if at == level {
			c.result.Depth++
			level = len(c.states)
		}
		if len(c.states) > limit {
			c.result.States = len(c.states)
			return c.result
		}
		c.visit(int32(at))
	}
	c.result.States, c.result.Complete = len(c.states), c.result.Failed == ""
	return c.result
}

func (c *search) add(s state, from origin) {
	if _, seen := c.number[s]; seen {
		return
	}
	c.number[s] = int32(len(c.states))
	c.states = append(c.states, s)
	c.from = append(c.from, from)
}

func (c *search) visit(at int32) {
	s := c.states[at]
	if s.answered > 0 && s.answeredBy >= 0 {
		c.result.Answered[Answer{seatName(int(s.answeredBy)), int(s.answered)}] = true
	}
	failed := c.model.invariant(&s)
	if failed == "" && c.model.Progress {
		failed = c.model.progress(&s)
	}
	if failed != "" {
		c.result.Failed, c.result.Trace = failed, c.trace(at)
		return
	}
	c.model.successors(s, func(who int, what string, after state, failed Property) {
		if c.result.Failed != "" {
			return
		}
		from := origin{state: at, who: int8(who), what: what}
		if failed == "" {
			c.add(after, from)
			return
		}
		c.result.Failed = failed
		c.result.Trace = append(c.trace(at), c.step(from, &after))
	})
}

// trace is the way by which the state was first reached, which is a shortest one.
func (c *search) trace(at int32) []Step {
	var back []int32
	for ; at >= 0; at = c.from[at].state {
		back = append(back, at)
	}
	steps := make([]Step, 0, len(back)+1)
	for i := len(back) - 1; i >= 0; i-- {
		steps = append(steps, c.step(c.from[back[i]], &c.states[back[i]]))
	}
	return steps
}

func (c *search) step(from origin, after *state) Step {
	who := ""
	if from.who >= 0 {
		who = seatName(int(from.who))
	}
	return Step{Who: who, What: from.what, After: after.text(c.model.seats())}
}
