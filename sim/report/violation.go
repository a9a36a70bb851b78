package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/wording"
	"github.com/transplant-sim/transplant/sim/world"
)

// violation is the card of a violation: of which promise, when, who did it, and what went on.
type violation struct {
	Number  int
	Oracle  string
	Promise string
	Message string
	At      string
	Moment  int64
	// Who stands in the proof, the harness left out.
	Who string
	// During says which step ran and which faults were at work, as the end of a sentence.
	During string
	// Meanwhile says what the shoots were doing.
	Meanwhile []string
	Proof     []line
	// Proofs is how many events prove it, when not all are shown.
	Proofs int
}

// oracleViolations are the violations that one oracle found. The first is shown in full.
type oracleViolations struct {
	First  violation
	Others []violation
	// Left out, because there are too many.
	Left int
}

// Bounds of what is shown of one oracle, and of one violation.
const (
	mostOthers = 50
	mostProofs = 12
)

// byOracle groups violations by their oracles, in the order of the first violation of each.
func byOracle(violations []violation) []oracleViolations {
	var all []oracleViolations
	for _, v := range violations {
		at := slices.IndexFunc(all, func(o oracleViolations) bool { return o.First.Oracle == v.Oracle })
		switch {
		case at < 0:
			all = append(all, oracleViolations{First: v})
		case len(all[at].Others) < mostOthers:
			all[at].Others = append(all[at].Others, v)
		default:
			all[at].Left++
		}
	}
	return all
}

func namesOf(all []oracleViolations) string {
	var names []string
	for _, o := range all {
		names = append(names, o.First.Oracle)
	}
	return strings.Join(names, ", ")
}

func violationsOf(run *Run) []violation {
	var all []violation
	bands, steps := bandsOf(run), stepBars(run)
	for i, v := range run.Verdict.Violations {
		at := int64(v.At * 1000)
		all = append(all, violation{
			Number: i + 1, Oracle: v.Oracle, Promise: promiseOf(v.Oracle), Message: v.Message, At: clock(at), Moment: at,
			Who: strings.Join(run.actors(v.Events), ", "), During: during(at, bands, steps), Meanwhile: run.meanwhile(v),
			Proof: run.proof(v.Events[:min(len(v.Events), mostProofs)]), Proofs: len(v.Events),
		})
	}
	return all
}

func promiseOf(name string) string {
	switch name {
	case verdict.Expect:
		return "What the scenario expects happens in time."
	case verdict.Goal:
		return "What is measured is within the goals."
	case verdict.Settle:
		return "When everything is healed, the landscape settles in time."
	}
	return oracle.Promise(name)
}

// actors of events, the harness left out.
func (r *Run) actors(numbers []int) []string {
	seen := map[string]bool{}
	for _, seq := range numbers {
		if e, known := r.event(seq); known && e.Actor != "" && e.Actor != world.Observer && e.Actor != world.Operator {
			seen[e.Actor] = true
		}
		if e, known := r.event(seq); known {
			if p, is := e.Payload.(timeline.EpochSeen); is {
				seen["the control plane of "+e.Subject+" on seed "+p.Seed] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// during says which step ran at a moment and which faults were at work, or had been.
func during(at int64, bands []Band, steps []Bar) string {
	var parts []string
	for _, s := range steps {
		if s.From <= at && at <= s.To {
			parts = append(parts, "in step "+s.Label)
			break
		}
	}
	var now, before []string
	for _, b := range bands {
		switch {
		case !b.Begun || b.From > at:
		case at <= b.To:
			now = append(now, fmt.Sprintf("%s (%s)", b.Name, b.What))
		default:
			before = append(before, fmt.Sprintf("%s (%s)", b.Name, b.What))
		}
	}
	switch {
	case len(now) > 0:
		parts = append(parts, "while the fault "+strings.Join(now, ", ")+" was at work")
	case len(before) > 0:
		parts = append(parts, "after the fault "+strings.Join(before, ", "))
	}
	return strings.Join(parts, ", ")
}

// meanwhile says what the shoots of a violation's events were doing: those that it is about, or all when that is not
// known.
func (r *Run) meanwhile(v verdict.Violation) []string {
	about := map[string]bool{}
	for _, seq := range v.Events {
		if e, known := r.event(seq); known {
			about[e.Subject] = true
		}
	}
	at := time.Duration(v.At * float64(time.Second))
	var all []string
	then := state.At(r.Events, at).Shoots
	for _, shoot := range slices.Sorted(maps.Keys(then)) {
		if seen := then[shoot]; about[shoot] || len(about) == 0 {
			all = append(all, fmt.Sprintf("%s was bound to seed %s and ran on seed %s: %s %s %d%% (%s)", shoot, seen.SpecSeed,
				seen.StatusSeed, seen.Operation.Type, seen.Operation.State, seen.Operation.Progress, seen.Operation.Description))
		}
	}
	return append(all, endsBefore(r.Events, at)...)
}

// endsBefore a moment of actors and third-party extensions: how often each has ended, and how the last time.
func endsBefore(events []timeline.Event, at time.Duration) []string {
	type ends struct {
		times int
		text  string
	}
	by := map[string]ends{}
	for e, p := range timeline.Of[timeline.ActorEnded](events) {
		if e.At <= at && e.Subject == p.Who { // those of control planes are too many
			by[p.Who] = ends{by[p.Who].times + 1, fmt.Sprintf("at %s: %s", clock(ms(e.At)), wording.Sentence(e))}
		}
	}
	var all []string
	for _, who := range slices.Sorted(maps.Keys(by)) {
		all = append(all, fmt.Sprintf("%s had ended %s, the last time %s", who, wording.Times(by[who].times), by[who].text))
	}
	return all
}
