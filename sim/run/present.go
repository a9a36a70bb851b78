package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// mark says how a line is to be painted.
type mark int

const (
	plain mark = iota
	good
	bad
	quiet
)

// present is how things are, as far as the events so far tell.
type present struct {
	written   int
	failed    int
	doing     map[string]timeline.Operation
	down      map[string]bool
	before    map[string]string // what was last said about a shoot
	turned    map[string]bool   // shoots whose reachability this event has changed
	operation bool              // this event has changed what a shoot is doing
}

func newPresent() present {
	return present{doing: map[string]timeline.Operation{}, down: map[string]bool{}, before: map[string]string{}, turned: map[string]bool{}}
}

func (p *present) take(e timeline.Event) {
	clear(p.turned)
	p.operation = false
	switch content := e.Payload.(type) {
	case timeline.Write:
		if content.Outcome == timeline.Acknowledged {
			p.written++
		} else {
			p.failed++
		}
	case timeline.Reached:
		if down := content.Outcome != timeline.Acknowledged; down != p.down[e.Subject] {
			p.down[e.Subject], p.turned[e.Subject] = down, true
		}
	case timeline.ShootSeen:
		p.doing[e.Subject] = content.Operation
		text := shootLine(content)
		p.operation = text != p.before[e.Subject]
		p.before[e.Subject] = text
	}
}

func shootLine(s timeline.ShootSeen) string {
	if s.Absent {
		return "is gone"
	}
	if s.Operation.Type == "" {
		return "waits for its first operation"
	}
	where := s.StatusSeed
	if where == "" {
		where = "no seed yet"
	}
	return fmt.Sprintf("on %s: %s %s", where, s.Operation.Type, s.Operation.State)
}

// line tells an event to people; empty for what need not be told.
func (p *present) line(e timeline.Event) (string, mark) {
	switch content := e.Payload.(type) {
	case timeline.Note:
		return content.Text, quiet
	case timeline.LandscapeReady:
		return "landscape ready: garden and " + strings.Join(content.Seeds, ", "), plain
	case timeline.ShootSteady:
		return fmt.Sprintf("%s is ready: %d nodes, %d objects", e.Subject, content.Nodes, content.Objects), plain
	case timeline.StepStarted:
		return "→ " + content.Text, plain
	case timeline.StepEnded:
		return stepLine(content)
	case timeline.FaultAwaited:
		return fmt.Sprintf("fault %s waits for %s", e.Subject, content.When), plain
	case timeline.FaultInjected:
		return fmt.Sprintf("fault %s begins: %s", e.Subject, content.Fault), bad
	case timeline.FaultHealed:
		return fmt.Sprintf("fault %s ends, felt %s", e.Subject, times(content.Touched)), good
	case timeline.ShootSeen:
		if p.operation {
			return e.Subject + " " + shootLine(content), plain
		}
	case timeline.Reached:
		if p.turned[e.Subject] {
			return reachLine(e.Subject, content)
		}
	case timeline.Settling:
		return "→ let it come to rest", plain
	case timeline.Settled:
		if !content.Converged {
			return "✗ " + strings.Join(content.Waiting, "; "), bad
		}
	case timeline.Unseen:
		// What a probe cannot see while it goes on looking is on the timeline; only the last looks are worth a line.
		if content.Final {
			return fmt.Sprintf("unseen: %s: %s", content.Probe, short(content.Error)), bad
		}
	case timeline.RunEnded:
		if content.Broken != "" {
			return "✗ " + content.Broken, bad
		}
	}
	return "", plain
}

func stepLine(s timeline.StepEnded) (string, mark) {
	switch s.Outcome {
	case timeline.StepDone:
		if s.Verb == "expect" || s.Verb == "wait" || s.Verb == "create" {
			return "✓ " + s.Text, good
		}
		return "", plain
	default:
		return "✗ " + s.Message, bad
	}
}

func reachLine(shoot string, r timeline.Reached) (string, mark) {
	if r.Outcome == timeline.Acknowledged {
		return shoot + "'s API answers", good
	}
	return shoot + "'s API does not answer: " + short(r.Error), bad
}

// status says in one line how things are right now.
func (p *present) status() string {
	parts := []string{fmt.Sprintf("%d writes", p.written)}
	if p.failed > 0 {
		parts[0] += fmt.Sprintf(", %d not acknowledged", p.failed)
	}
	for _, shoot := range slices.Sorted(maps.Keys(p.doing)) {
		o := p.doing[shoot]
		text := fmt.Sprintf("%s %s %s %d%%", shoot, o.Type, o.State, o.Progress)
		if p.down[shoot] {
			text += " (API down)"
		}
		if o.State == "Processing" {
			text += " " + o.Description
		}
		parts = append(parts, text)
	}
	return short(strings.Join(parts, " · "))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// short keeps a text on one line of an ordinary terminal.
func short(text string) string {
	const most = 140
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}
