package oracle

import (
	"fmt"
	"maps"
	"slices"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// impossibleCourse: steps begin in their order, each when the one before it is done; then the landscape settles, once.
// Only a run that says why it was cut short may lack the end.
func impossibleCourse(events []timeline.Event) (found []string) {
	var c course
	for _, e := range events {
		c.take(e)
	}
	if _, ended, is := timeline.First[timeline.RunEnded](events); is && ended.Error == "" {
		if c.open {
			c.wrong("step %d has not ended", c.steps)
		}
		if !c.settled {
			c.wrong("nobody has waited until the landscape settled")
		}
	}
	return c.found
}

// course of a run, as far as it is read.
type course struct {
	steps             int  // how many have begun
	open              bool // the last of them has not ended
	over              bool // one has ended in a way after which there are no more
	settling, settled bool
	found             []string
}

func (c *course) wrong(format string, arguments ...any) {
	c.found = append(c.found, fmt.Sprintf(format, arguments...))
}

func (c *course) take(e timeline.Event) {
	switch p := e.Payload.(type) {
	case timeline.StepStarted:
		switch {
		case c.settling:
			c.wrong("step %d begins when the steps are over", p.Index+1)
		case c.open || c.over:
			c.wrong("step %d begins, and step %d is not done", p.Index+1, c.steps)
		case p.Index != c.steps:
			c.wrong("step %d begins after step %d", p.Index+1, c.steps)
		}
		c.steps, c.open = p.Index+1, true
	case timeline.StepEnded:
		if !c.open || p.Index+1 != c.steps {
			c.wrong("step %d has ended and not begun", p.Index+1)
		}
		c.open, c.over = false, p.Outcome != timeline.StepDone
	case timeline.Settling:
		if c.settling || c.open {
			c.wrong("the landscape is to settle in the middle of the run")
		}
		c.settling = true
	case timeline.Settled:
		if !c.settling || c.settled {
			c.wrong("the landscape has settled, and was not to")
		}
		if !p.Converged && len(p.Waiting)+len(p.Unknown) == 0 {
			c.wrong("the landscape has not settled, and nothing says why")
		}
		c.settled = true
	}
}

// impossibleFaults: a fault begins before it is healed, and before the landscape settles, and is healed.
func impossibleFaults(events []timeline.Event) (found []string) {
	lasting := map[string]timeline.FaultInjected{}
	settling := false
	wrong := func(format string, arguments ...any) { found = append(found, fmt.Sprintf(format, arguments...)) }
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.Settling:
			settling = true
			for _, name := range slices.Sorted(maps.Keys(lasting)) {
				wrong("the fault %q, %s, was never healed", name, lasting[name].Fault)
			}
		case timeline.FaultInjected:
			if _, begun := lasting[e.Subject]; begun || settling {
				wrong("the fault %q, %s, begins a second time, or after all are healed", e.Subject, p.Fault)
			}
			lasting[e.Subject] = p
		case timeline.FaultHealed:
			if _, begun := lasting[e.Subject]; !begun {
				wrong("the fault %q, %s, is healed and has not begun", e.Subject, p.Fault)
			}
			delete(lasting, e.Subject)
		}
	}
	return found
}
