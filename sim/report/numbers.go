package report

import (
	"fmt"
	"strings"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// measured is one number of a run, and its goal.
type measured struct {
	Name   string
	Why    string // it matters, in a line
	About  string // what exactly is measured
	Value  string
	Unit   string
	Number float64 // in seconds, or a count
	Goal   string
	Tone   string
	// Share of the goal that was used, in percent, at most 100; -1 without a goal.
	Share float64
}

// Measures that are lower bounds where the API was not observed all the time.
const (
	apiDowntime   = "API downtime"
	longestOutage = "longest outage"
)

func measuresOf(run *Run) []measured {
	var all []measured
	m, goals := run.Verdict.Measures, run.Scenario.Spec.Measure
	seconds := func(name, why, about string, value *float64, goal *scenario.Bound) {
		if value == nil {
			return
		}
		one := measured{Name: name, Why: why, About: about, Number: *value, Value: fmt.Sprintf("%.3f", *value), Unit: "s",
			Share: -1, Tone: "plain"}
		if goal != nil {
			one.against(goal.Max.Seconds(), goal.Max.Duration.String())
		}
		all = append(all, one)
	}
	count := func(name, why, about string, value *int, goal *scenario.Count) {
		if value == nil {
			return
		}
		one := measured{Name: name, Why: why, About: about, Number: float64(*value), Value: fmt.Sprint(*value), Share: -1,
			Tone: "plain"}
		if goal != nil {
			one.against(float64(goal.Max), fmt.Sprint(goal.Max))
		}
		all = append(all, one)
	}
	seconds("RTO", "how long users cannot work after a loss",
		"from the fault to the first write that was acknowledged after the recovery from it, or, without a load, until its "+
			"API was reached; of several recoveries the longest", m.RTOSeconds, goals.RTO)
	seconds("RPO", "how much of their latest work users have to do again",
		"age of the newest lost write against the newest that survived before the first lost one", m.RPOSeconds, goals.RPO)
	count("lost writes", "what users were sure of, and have lost", "acknowledged, and not in the data at the end",
		m.LostWrites, goals.LostWrites)
	seconds(apiDowntime, "how long users and programs could not reach the shoot, whatever the reason",
		"how long the API could not be reached by name, in all; of the worst shoot", m.APIDowntimeSeconds, goals.APIDowntime)
	seconds("API downtime of bystanders", "users of shoots that are not moved should notice nothing",
		"how long the API of shoots that stayed on their seed all the time could not be reached; of the worst of them",
		m.BystanderDowntimeSeconds, goals.BystanderDowntime)
	seconds("API not observed", "how far the downtime can be relied on",
		"how long nobody tried to reach the API though it was due: the downtime may be longer by that",
		m.APIUnobservedSeconds, nil)
	seconds(longestOutage, "clients and controllers of users give up after one long outage, not after many short ones",
		"the longest single outage in the API downtime", m.APILongestGapSeconds, nil)
	count("restores at once", "a seed that restores many shoots at once is slow for all of them",
		"the most shoots that one seed was restoring at the same time", m.RestoresAtOnce, goals.RestoresAtOnce)
	if d := run.Verdict.AtDefaults; d != nil {
		seconds("RTO at default settings", "how long users could not work if nobody changes a setting",
			fmt.Sprintf("computed: %.3f s of work as measured, %g s of waits; clients may keep the old address %g s longer",
				d.WorkSeconds, d.WaitSeconds, d.DNSSeconds), &d.RTOSeconds, nil)
		seconds("RPO at default settings", "how much work users could lose if nobody changes a setting",
			"computed, and at most: what may be written between two incremental backups there", d.RPOAtMostSeconds, nil)
	}
	return all
}

// against compares a number with its goal.
func (m *measured) against(most float64, text string) {
	m.Goal, m.Tone, m.Share = text, "good", 0
	switch {
	case m.Number > most:
		m.Tone, m.Share = "bad", 100
	case most > 0:
		m.Share = 100 * m.Number / most
	}
}

// phase of a migration or recovery.
type phase struct {
	Name string
	// Seconds that a part of a migration took, or after which a moment of a recovery came.
	Seconds float64
	// Down is how long of it the API was unreachable; -1 when that was not probed.
	Down float64
	// Left and Share are where its bar begins, and how long it is, in percent of the longest migration or recovery. The
	// bar of a moment begins at the moment before.
	Left, Share float64
}

func phasesOf(run *Run) []phase {
	var all []phase
	longest, before := 0.0, ""
	at := 0.0 // the end of the bar before, in this migration or recovery
	values := run.Verdict.Measures.Phases
	for _, name := range measure.InOrder(values) {
		prefix, last := "", name
		if dot := strings.LastIndex(name, "."); dot >= 0 {
			prefix, last = name[:dot+1], name[dot+1:]
		}
		if prefix != before {
			before, at = prefix, 0
		}
		one := phase{Name: name, Seconds: values[name], Down: -1}
		if down, probed := values[prefix+"apiDown."+last]; probed {
			one.Down = down
		}
		switch {
		case last == "total":
			one.Share = one.Seconds
		case strings.HasSuffix(prefix, "recovery."):
			one.Left, one.Share = at, max(one.Seconds-at, 0)
			at = max(at, one.Seconds)
		default:
			one.Left, one.Share = at, one.Seconds
			at += one.Seconds
		}
		longest = max(longest, one.Left+one.Share)
		all = append(all, one)
	}
	for i := range all {
		if longest > 0 {
			all[i].Left, all[i].Share = 100*all[i].Left/longest, 100*all[i].Share/longest
		}
	}
	return all
}
