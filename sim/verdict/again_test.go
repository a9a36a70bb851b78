package verdict_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

const onB = `shoot('alpha').seed == 'b'`

// observed is a look for onB.
func observed(shoot string) timeline.Payload {
	return timeline.Observed{That: onB, Facts: json.RawMessage(`{"shoots":{"alpha":` + shoot + `}}`)}
}

// runOf one step, which was recorded with what it has observed, or without.
func runOf(verb, within string, recorded bool, outcome timeline.StepOutcome, looks ...timeline.Payload,
) []timeline.Event {
	field := map[string]string{"expect": "that", "wait": "until"}[verb]
	spec := fmt.Sprintf(`{"metadata":{"name":"tale"},"spec":{"why":"x","landscape":{"seeds":[{"name":"a"}]},
		"steps":[{%q:{%q:%q,"within":%q}}]}}`, verb, field, onB, within)
	all := slices.Concat(
		[]timeline.Payload{timeline.RunStarted{Scenario: "tale", Observed: recorded, Definition: json.RawMessage(spec)},
			timeline.StepStarted{Verb: verb, Text: verb}},
		looks,
		[]timeline.Payload{timeline.StepEnded{Verb: verb, Text: verb, Outcome: outcome, Message: "over"},
			timeline.Settled{Converged: true}, timeline.RunEnded{}})
	var events []timeline.Event
	for i, p := range all {
		events = append(events, timeline.Event{Seq: i + 1, At: time.Duration(i) * time.Second, Kind: p.Kind(), Payload: p})
	}
	return events
}

func TestJudge_Condition_IsJudgedAgain(t *testing.T) {
	t.Parallel()
	const here, there, dark = `{"exists":true,"seed":"a"}`, `{"exists":true,"seed":"b"}`, `{"unknown":{"*":"refused"}}`
	for name, c := range map[string]struct {
		verb    string
		outcome timeline.StepOutcome
		looks   []timeline.Payload
		want    verdict.Verdict
		says    string
	}{
		"met": {"expect", timeline.StepDone, []timeline.Payload{observed(here), observed(there)},
			verdict.Passed, ""},
		"waited for": {"wait", timeline.StepDone, []timeline.Payload{observed(there)}, verdict.Passed, ""},
		"not met":    {"expect", timeline.StepUnmet, []timeline.Payload{observed(here)}, verdict.Failed, "over"},
		"not known": {"expect", timeline.StepUnknown, []timeline.Payload{observed(here), observed(dark)},
			verdict.Inconclusive, "how step 1 ends"},
		"not met and not known": {"expect", timeline.StepUnmet,
			[]timeline.Payload{observed(here), observed(dark)}, verdict.Error,
			"step 1, expect, is unmet, and unknown by what was observed"},
		"met by nothing": {"expect", timeline.StepDone, nil, verdict.Error,
			"step 1, expect, is done, and nothing is recorded that was observed for it"},
		"met, and it was not so": {"expect", timeline.StepDone, []timeline.Payload{observed(here)}, verdict.Error,
			`step 1, expect, is done, and unmet by what was observed: shoot("alpha").seed is "a"`},
		"met, and nobody knows": {"expect", timeline.StepDone, []timeline.Payload{observed(dark)}, verdict.Error,
			"is done, and unknown by what was observed"},
		"not met, and it was so": {"expect", timeline.StepUnmet, []timeline.Payload{observed(there)}, verdict.Error,
			`step 1, expect, is unmet, and done by what was observed: shoot("alpha").seed is "b"`},
		"a look too many": {"expect", timeline.StepUnmet, []timeline.Payload{observed(there), observed(here)},
			verdict.Error, "went on after its condition was true"},
		"a look too many, and one that is damaged": {"expect", timeline.StepUnmet,
			[]timeline.Payload{observed(there), observed("3"), observed(here)}, verdict.Error,
			`went on after its condition was true: shoot("alpha").seed is "b"; event 4 is another observation`},
		"given up early": {"expect", timeline.StepUnmet, []timeline.Payload{observed(here)}, verdict.Error,
			"step 1, expect, is unmet 58s before its time was over"},
		"another condition": {"expect", timeline.StepDone, []timeline.Payload{timeline.Observed{That: "x"}},
			verdict.Error, "nothing is recorded"},
		"not readable": {"expect", timeline.StepDone, []timeline.Payload{observed("3")}, verdict.Error,
			"read what was observed"},
		"a wait in vain": {"wait", timeline.StepFailed, []timeline.Payload{observed(here)}, verdict.Error,
			"step 1, wait: over"},
		"a wait in vain, and it was so": {"wait", timeline.StepFailed, []timeline.Payload{observed(there)},
			verdict.Error, "step 1, wait, is failed, and done by what was observed"},
		"interrupted": {"expect", timeline.StepFailed, nil, verdict.Error, "step 1, expect: over"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within := "1s"
			if name == "given up early" {
				within = "1m"
			}
			r, err := verdict.Judge(runOf(c.verb, within, true, c.outcome, c.looks...))
			if err != nil {
				t.Fatal(err)
			}
			said := r.Reasons
			for _, v := range r.Violations {
				said = append(said, v.Message)
			}
			if r.Verdict != c.want || !strings.Contains(strings.Join(said, "\n"), c.says) || len(r.NotJudged) > 0 {
				t.Errorf("%s %q, not judged %v; want %s, %q", r.Verdict, said, r.NotJudged, c.want, c.says)
			}
		})
	}
}

// A condition of samples is judged by one observation, which may be made before its time is over.
func TestJudge_ConditionOfSamples_IsJudgedOnce(t *testing.T) {
	t.Parallel()
	const here, there, dark = `{"exists":true,"seed":"a"}`, `{"exists":true,"seed":"b"}`, `{"unknown":{"*":"refused"}}`
	for name, c := range map[string]struct {
		outcome timeline.StepOutcome
		looks   []timeline.Payload
		want    verdict.Verdict
		says    string
	}{
		"met":     {timeline.StepDone, []timeline.Payload{observed(there)}, verdict.Passed, ""},
		"not met": {timeline.StepUnmet, []timeline.Payload{observed(here)}, verdict.Failed, "over"},
		"not known": {timeline.StepUnknown, []timeline.Payload{observed(dark)}, verdict.Error,
			"step 1, expect, is unknown 58s before its time was over"},
		"met at the second look": {timeline.StepDone, []timeline.Payload{observed(here), observed(there)},
			verdict.Error, `is judged by one observation: shoot("alpha").seed is "a"; event 4 is another`},
	} {
		events := runOf("expect", "1m", true, c.outcome, c.looks...)
		start := events[0].Payload.(timeline.RunStarted)
		start.Definition = bytes.Replace(start.Definition, []byte(`"within"`), []byte(`"samples":3,"within"`), 1)
		events[0].Payload = start
		r, err := verdict.Judge(events)
		if err != nil {
			t.Fatal(err)
		}
		said := r.Reasons
		for _, v := range r.Violations {
			said = append(said, v.Message)
		}
		if r.Verdict != c.want || !strings.Contains(strings.Join(said, "\n"), c.says) {
			t.Errorf("%s: %s %q, want %s, %q", name, r.Verdict, said, c.want, c.says)
		}
	}
}

func TestJudge_OlderRecord_SaysThatConditionsAreNotJudgedAgain(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[timeline.StepOutcome]verdict.Verdict{
		timeline.StepDone: verdict.Passed, timeline.StepUnmet: verdict.Failed,
	} {
		r, err := verdict.Judge(runOf("expect", "1s", false, outcome))
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != want || len(r.NotJudged) != 1 ||
			r.NotJudged[0] != "the conditions of the steps: what was observed for them is not recorded" {
			t.Errorf("%s: %s %v, not judged %q", outcome, r.Verdict, r.Reasons, r.NotJudged)
		}
	}
}

// reportOf one step with a condition, whose events are changed.
func reportOf(t *testing.T, recorded bool, change func([]timeline.Event) []timeline.Event, looks ...timeline.Payload,
) *verdict.Report {
	t.Helper()
	r, err := verdict.Judge(change(runOf("expect", "1s", recorded, timeline.StepDone, looks...)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestJudge_StepThatTheScenarioDoesNotHave_IsNamed(t *testing.T) {
	t.Parallel()
	for index, want := range map[int]string{
		-1: "step 0: the scenario has no such step",
		1:  "step 2: the scenario has no such step",
	} {
		r := reportOf(t, true, func(events []timeline.Event) []timeline.Event {
			events[1].Payload = timeline.StepStarted{Index: index, Verb: "expect"}
			events[2].Payload = timeline.StepEnded{Index: index, Verb: "expect", Outcome: timeline.StepDone}
			return events
		})
		if !slices.Equal(r.NotJudged, []string{want}) {
			t.Errorf("step %d: not judged %q, want %q", index, r.NotJudged, want)
		}
	}
}

// without the events of a kind.
func without(kind timeline.Kind) func([]timeline.Event) []timeline.Event {
	return func(events []timeline.Event) []timeline.Event {
		return slices.DeleteFunc(events, func(e timeline.Event) bool { return e.Kind == kind })
	}
}

func TestJudge_StepThatIsRecordedInPart_IsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lacks     timeline.Kind
		looks     []timeline.Payload
		reason    string
		notJudged string
	}{
		"its start": {"StepStarted", []timeline.Payload{observed(`{"exists":true,"seed":"b"}`)},
			"step 1, expect, has ended and not begun", ""},
		"its end": {"StepEnded", []timeline.Payload{observed(`{"exists":true,"seed":"b"}`)}, "",
			"the condition of step 1: its end is not recorded"},
		"its end, and a look is damaged": {"StepEnded", []timeline.Payload{observed("3")},
			"step 1, expect, read what was observed", ""},
	} {
		r := reportOf(t, true, without(c.lacks), c.looks...)
		said, wrong := strings.Join(r.Reasons, "\n"), r.Verdict == verdict.Error
		if wrong != (c.reason != "") || !strings.Contains(said, c.reason) || strings.Join(r.NotJudged, "\n") != c.notJudged {
			t.Errorf("%s: %s %q, not judged %q; want %q, %q", name, r.Verdict, said, r.NotJudged, c.reason, c.notJudged)
		}
	}
}

// What has no observations may hold a condition that this version cannot read: one note is enough.
func TestJudge_OlderRecordWithConditionOfBefore_IsNotedOnce(t *testing.T) {
	t.Parallel()
	for recorded, want := range map[bool]string{
		false: "the conditions of the steps: what was observed for them is not recorded",
		true:  "the condition of step 1: ",
	} {
		r := reportOf(t, recorded, func(events []timeline.Event) []timeline.Event {
			started := events[0].Payload.(timeline.RunStarted)
			started.Definition = bytes.Replace(started.Definition, []byte(".seed =="), []byte(".sed =="), 1)
			events[0].Payload = started
			return events
		})
		if len(r.NotJudged) != 1 || !strings.HasPrefix(r.NotJudged[0], want) {
			t.Errorf("recorded %t: not judged %q, want %q", recorded, r.NotJudged, want)
		}
	}
}
