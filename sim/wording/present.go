// Package wording puts events into words for people: the lines that matter while a scenario runs, and a sentence for
// every event on a timeline. It judges nothing and paints nothing: it says how a line is meant, and the caller decides
// how it looks.
package wording

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Mark says how a line is meant.
type Mark int

// Marks of lines.
const (
	Plain Mark = iota
	Good
	Bad
	Quiet
)

// Present is how things are according to the events so far.
type Present struct {
	written   int
	failed    int
	known     *state.State
	down      map[string]bool
	seeds     map[string]string // what was last said about a seed
	turned    map[string]bool   // shoots whose reachability this event has changed
	operation bool              // this event has changed what a shoot is doing
	seed      bool              // there is something new to say about a seed
}

// NewPresent is how things are before the first event.
func NewPresent() Present {
	return Present{known: state.New(), down: map[string]bool{}, seeds: map[string]string{}, turned: map[string]bool{}}
}

// Take goes on by one event.
func (p *Present) Take(e timeline.Event) {
	clear(p.turned)
	p.operation, p.seed = false, false
	was, isKnown := p.known.Shoots[e.Subject]
	p.known.Take(e)
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
		p.operation = !isKnown || shootLine(content) != shootLine(was)
	case timeline.SeedSeen:
		text, _ := seedLine(content)
		before, known := p.seeds[e.Subject]
		// one that is well to begin with is nothing new
		p.seed = text != "" && text != before && (known || !content.Gardenlet("True"))
		p.seeds[e.Subject] = cmp.Or(text, before)
	}
}

func shootLine(s timeline.ShootSeen) string {
	if s.Absent {
		return "is gone"
	}
	if s.Operation.Type == "" {
		return "waits for its first operation"
	}
	where := cmp.Or(s.StatusSeed, "no seed yet")
	return fmt.Sprintf("on %s: %s %s", where, s.Operation.Type, s.Operation.State)
}

// Line describes the event that was taken last; empty for one that is not worth a line.
func (p *Present) Line(e timeline.Event) (string, Mark) {
	switch content := e.Payload.(type) {
	case timeline.Note:
		return content.Text, Quiet
	case timeline.LandscapeReady:
		return "landscape ready: garden and " + strings.Join(content.Seeds, ", "), Plain
	case timeline.ShootReady:
		return fmt.Sprintf("%s is ready: %d nodes, %d objects", e.Subject, content.Nodes, content.Objects), Plain
	case timeline.StepStarted:
		return "→ " + content.Text, Plain
	case timeline.StepEnded:
		return stepLine(content)
	case timeline.FaultAwaited:
		return fmt.Sprintf("fault %s waits for %s", e.Subject, content.When), Plain
	case timeline.FaultInjected:
		return fmt.Sprintf("fault %s begins: %s", e.Subject, content.Fault), Bad
	case timeline.FaultHealed:
		return fmt.Sprintf("fault %s ends; it hit %s", e.Subject, Times(content.Hits)), Good
	case timeline.ShootSeen:
		if p.operation {
			return e.Subject + " " + shootLine(content), Plain
		}
	case timeline.SeedSeen:
		if p.seed {
			text, mark := seedLine(content)
			return fmt.Sprintf("seed %s %s", e.Subject, text), mark
		}
	case timeline.Reached:
		if p.turned[e.Subject] {
			return reachLine(e.Subject, content)
		}
	case timeline.Settling:
		return "→ wait until everything has settled", Plain
	case timeline.Settled:
		if content.Converged {
			return "✓ everything has settled", Good
		}
		return "✗ " + unsettled(content), Bad
	case timeline.Unseen:
		// What a probe cannot see while it goes on looking is on the timeline; only the last looks are worth a line.
		if content.Final {
			return fmt.Sprintf("unseen: %s: %s", content.Probe, Short(content.Error)), Bad
		}
	case timeline.ActorEnded:
		// The landscape's own actors end when scenarios kill them; of a third-party extension every end is news.
		if content.Extension != "" {
			return Short(endSentence(content)), Quiet
		}
	case timeline.RunEnded:
		if content.Error != "" {
			why, _, _ := strings.Cut(content.Error, "\n") // the whole stands in the verdict
			return "✗ " + why, Bad
		}
	}
	return "", Plain
}

func stepLine(s timeline.StepEnded) (string, Mark) {
	switch s.Outcome {
	case timeline.StepDone:
		if s.Verb == "expect" || s.Verb == "wait" || s.Verb == "create" {
			return "✓ " + s.Text, Good
		}
		return "", Plain
	default:
		return "✗ " + s.Message, Bad
	}
}

// seedLine is empty for a seed of which nothing can be said yet.
func seedLine(s timeline.SeedSeen) (string, Mark) {
	switch {
	case s.Absent:
		return "is gone", Bad
	case s.Gardenlet("Unknown"):
		return "does not report", Bad
	case s.Gardenlet("True"):
		return "reports again", Good
	}
	return "", Plain
}

func reachLine(shoot string, r timeline.Reached) (string, Mark) {
	if r.Outcome == timeline.Acknowledged {
		return shoot + "'s API answers", Good
	}
	return shoot + "'s API does not answer: " + Short(r.Error), Bad
}

// Status says in one line how things are right now.
func (p *Present) Status() string {
	parts := []string{fmt.Sprintf("%d writes", p.written)}
	if p.failed > 0 {
		parts[0] += fmt.Sprintf(", %d not acknowledged", p.failed)
	}
	for _, shoot := range slices.Sorted(maps.Keys(p.known.Shoots)) {
		o := p.known.Shoots[shoot].Operation
		text := fmt.Sprintf("%s %s %s %d%%", shoot, o.Type, o.State, o.Progress)
		if p.down[shoot] {
			text += " (API down)"
		}
		if o.State == "Processing" {
			text += " " + o.Description
		}
		parts = append(parts, text)
	}
	return Short(strings.Join(parts, " · "))
}

// Times says how often.
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Short keeps a text on one line of an ordinary terminal.
func Short(text string) string { return cut(text, 140) }

// Reason is what others give as one, on one line, and long enough to have its cause at its end: at most 500 characters.
func Reason(text string) string { return cut(text, 500) }

func cut(text string, most int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}
