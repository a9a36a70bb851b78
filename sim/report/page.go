package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/wording"
)

// page is what the template of a run's page shows, beside the picture.
type page struct {
	Run        *Run
	Verdict    string
	Tone       string
	Headline   string
	Facts      []fact
	Measures   []measured
	Phases     []phase
	Costs      []cost
	Violations []oracleViolations
	Faults     []Band
	Promises   []promise
	Lines      []line
	Command    string
	Where      where
	Model      Model
	Assets     assets
	// Follow is where the page finds what is new, when a server shows it; empty in a file.
	Follow string
	// Back is where the list of runs is, when a server shows it.
	Back string
}

type fact struct{ Name, Value string }

// promise, and what became of it.
type promise struct {
	verdict.Promise
	About string
}

// State of the promise in a word.
func (p promise) State() string {
	switch {
	case p.Violations > 0:
		return counted(p.Violations, "violation")
	case len(p.Unseen) > 0:
		return "not seen enough"
	}
	return "kept"
}

// Tone of that word.
func (p promise) Tone() string {
	switch {
	case p.Violations > 0:
		return "bad"
	case len(p.Unseen) > 0:
		return "unclear"
	}
	return "good"
}

// line of the run as the terminal shows it.
type line MoreLine

func pageOf(run *Run) page {
	p := page{Run: run, Verdict: stateOf(run), Tone: "unclear", Facts: factsOf(run), Faults: bandsOf(run),
		Lines: linesOf(run), Where: whereOf(run, 0), Command: verdict.Begin(run.Start).Again(""), Model: ModelOf(run, 0),
		Costs: costsOf(run), Assets: theAssets}
	if run.Verdict != nil {
		p.Tone = verdictTone(run.Verdict.Verdict)
		p.Measures, p.Phases, p.Promises = measuresOf(run), phasesOf(run), promisesOf(run)
		p.Violations = byOracle(violationsOf(run))
	}
	p.Headline = headlineOf(run, p.Violations)
	return p
}

// stateOf a run in one word: its verdict, or why it has none.
func stateOf(run *Run) string {
	switch {
	case run.Verdict != nil:
		return string(run.Verdict.Verdict)
	case run.Live():
		return "Running"
	case run.Ended:
		return "Not judged"
	}
	return "Aborted"
}

func verdictTone(v verdict.Verdict) string {
	switch v {
	case verdict.Passed:
		return "good"
	case verdict.Failed:
		return "bad"
	}
	return "unclear"
}

// headlineOf says in one sentence what became of the run.
func headlineOf(run *Run, found []oracleViolations) string {
	switch {
	case run.Verdict == nil:
		return unjudged(run) + "; last: " + lastOf(run) + "."
	case run.Verdict.Verdict == verdict.Passed:
		text := fmt.Sprintf("Every promise was kept: %s judged the record", counted(len(run.Verdict.Promises), "oracle"))
		if len(run.Events) > 0 { // which were read
			text += fmt.Sprintf(" of %s events", thousands(len(run.Events)))
		}
		return text + "."
	case run.Verdict.Verdict == verdict.Failed:
		first := found[0].First
		text := fmt.Sprintf("%s of %s: the first at %s", counted(len(run.Verdict.Violations), "violation"), namesOf(found),
			first.At)
		if len(run.Verdict.Violations) == 1 {
			text = fmt.Sprintf("1 violation of %s at %s", first.Oracle, first.At)
		}
		if first.During != "" {
			text += ", " + first.During
		}
		return text + "."
	}
	return strings.Join(run.Verdict.Reasons, "; ") + "."
}

// unjudged says why a run has no verdict, and what gives it one.
func unjudged(run *Run) string {
	switch {
	case run.Live():
		return "There is no verdict yet"
	case run.Ended:
		return "It has ended without a verdict: transplant judge --write gives it one"
	}
	return "Its process has gone without a verdict: transplant judge --write judges what is recorded"
}

func lastOf(run *Run) string {
	if len(run.Events) == 0 {
		return "nothing is recorded"
	}
	return wording.Sentence(run.Events[len(run.Events)-1])
}

// counted says how many, as "1 oracle" or "2 oracles".
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// thousands groups the digits of a number.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "\u202f" + text[at:]
	}
	return text
}

func factsOf(run *Run) []fact {
	facts := []fact{
		{"started", run.Started.UTC().Format("2006-01-02 15:04:05 MST")},
		{"took", run.length().Round(100 * time.Millisecond).String()},
		{"backend", run.Start.Backend},
		{"random seed", fmt.Sprint(run.Start.RandomSeed)},
	}
	if m := run.Start.TimeoutMultiplier; m != 0 && m != 1 {
		facts = append(facts, fact{"timeout multiplier", fmt.Sprintf("%g", m)})
	}
	facts = append(facts, fact{"events", thousands(len(run.Events))})
	if run.Verdict != nil && len(run.Verdict.NotJudged) > 0 {
		facts = append(facts, fact{"not judged again", strings.Join(run.Verdict.NotJudged, "; ")})
	}
	return facts
}

// promisesOf the run: those with violations first, then those of which not enough was seen.
func promisesOf(run *Run) []promise {
	var all []promise
	for _, p := range verdict.PromisesOf(run.Verdict, run.Events) {
		all = append(all, promise{p, promiseOf(p.Name)})
	}
	slices.SortStableFunc(all, func(a, b promise) int {
		return cmp.Or(cmp.Compare(b.Violations, a.Violations), cmp.Compare(min(len(b.Unseen), 1), min(len(a.Unseen), 1)))
	})
	return all
}

// linesOf the run, as the terminal showed them.
func linesOf(run *Run) []line {
	tones := map[wording.Mark]string{wording.Good: "good", wording.Bad: "bad", wording.Quiet: "quiet"}
	now := wording.NewPresent()
	var all []line
	for _, e := range run.Events {
		now.Take(e)
		if text, mark := now.Line(e); text != "" {
			all = append(all, line{clock(ms(e.At)), text, tones[mark], e.Seq})
		}
	}
	return all
}

// events that stand in a violation's card, by number.
func (r *Run) proof(numbers []int) []line {
	var all []line
	for _, seq := range numbers {
		if e, known := r.event(seq); known {
			text := wording.Sentence(e)
			if who := strings.Join(slices.DeleteFunc([]string{e.Actor, e.Subject}, func(s string) bool {
				return s == ""
			}), ", "); who != "" {
				text = who + ": " + text
			}
			all = append(all, line{clock(ms(e.At)), text, toneNames[toneOf(e)], seq})
		}
	}
	return all
}

var toneNames = map[Tone]string{Plain: "plain", Good: "good", Bad: "bad", Unclear: "unclear", Lost: "lost",
	Busy: "busy"}
