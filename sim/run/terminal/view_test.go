package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/wording"
)

// shortRun is the timeline of a short run.
func shortRun() []timeline.Event {
	operation := timeline.Operation{Type: "Migrate", State: "Processing", Progress: 43,
		Description: "Creating final snapshot"}
	later := operation
	later.Progress = 60
	var events []timeline.Event
	for i, p := range []timeline.Payload{
		timeline.Note{Text: "garden: ready"},
		timeline.LandscapeReady{Seeds: []string{"a", "b"}},
		timeline.ShootReady{Nodes: 3, Objects: 200},
		timeline.StepStarted{Verb: "migrate", Text: "migrate alpha to b"},
		timeline.StepEnded{Verb: "migrate", Text: "migrate alpha to b", Outcome: timeline.StepDone},
		timeline.Write{Outcome: timeline.Acknowledged},
		timeline.Write{Outcome: timeline.Unknown},
		timeline.ShootSeen{StatusSeed: "a", Operation: operation},
		timeline.ShootSeen{StatusSeed: "a", Operation: later},
		timeline.Reached{Outcome: timeline.Acknowledged},
		timeline.Reached{Outcome: timeline.Failed, Error: "connection refused"},
		timeline.Reached{Outcome: timeline.Failed, Error: "connection refused"},
		timeline.Reached{Outcome: timeline.Acknowledged},
		timeline.Unseen{Probe: "nodes of alpha", Error: "away"},
		timeline.Unseen{Probe: "data of alpha", Error: "away", Final: true},
		timeline.FaultInjected{Fault: "cut(user,shoots)"},
		timeline.FaultHealed{Fault: "cut(user,shoots)", Hits: 4},
		timeline.StepEnded{Verb: "expect", Text: "expect much", Outcome: timeline.StepUnmet, Message: "not met within 1s"},
		timeline.Settled{Converged: true},
		timeline.Settled{Waiting: []string{"alpha is not well"}},
		timeline.RunEnded{Error: "no more"},
		timeline.SeedSeen{Conditions: []timeline.ConditionIs{{Type: "GardenletReady", Status: "True"}}},
		timeline.SeedSeen{Conditions: []timeline.ConditionIs{{Type: "GardenletReady", Status: "Unknown"}}},
		timeline.SeedSeen{Conditions: []timeline.ConditionIs{{Type: "ExtensionsReady", Status: "Unknown"},
			{Type: "GardenletReady", Status: "Unknown"}}},
		timeline.SeedSeen{Conditions: []timeline.ConditionIs{{Type: "GardenletReady", Status: "True"}}},
		timeline.SeedSeen{Absent: true},
		timeline.SeedSeen{},
	} {
		events = append(events, timeline.Event{Seq: i + 1, At: time.Duration(i) * time.Second, Kind: p.Kind(),
			Subject: "alpha", Payload: p})
	}
	return events
}

func TestPlainLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := &View{out: &out, styles: stylesFor(&out), now: wording.NewPresent()}
	for _, e := range shortRun() {
		v.event(e)
	}
	want := `    0.0s garden: ready
    1.0s landscape ready: garden and a, b
    2.0s alpha is ready: 3 nodes, 200 objects
    3.0s → migrate alpha to b
    7.0s alpha on a: Migrate Processing
   10.0s alpha's API does not answer: connection refused
   12.0s alpha's API answers
   14.0s unseen: data of alpha: away
   15.0s fault alpha begins: cut(user,shoots)
   16.0s fault alpha ends; it hit 4 times
   17.0s ✗ not met within 1s
   18.0s ✓ everything has settled
   19.0s ✗ alpha is not well
   20.0s ✗ no more
   22.0s seed alpha does not report
   24.0s seed alpha reports again
   25.0s seed alpha is gone
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheStatusLineOfATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	width := 0
	v := &View{out: &out, styles: stylesFor(&out), now: wording.NewPresent(), live: true, width: func() int {
		return width
	}}
	for _, e := range shortRun()[:9] {
		v.event(e)
	}
	width, v.shownAt = 20, -time.Hour
	v.event(timeline.Event{At: time.Minute, Payload: timeline.Note{}})
	if want := "   60.0s 1 writes,…"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("the status line is not cut to the terminal, to %q:\n%q", want, out.String())
	}
	v.clear()
	if want := "1 writes, 1 not acknowledged · alpha Migrate Processing 60% Creating final snapshot"; !strings.Contains(
		out.String(), want) {
		t.Errorf("the status line lacks %q:\n%q", want, out.String())
	}
	if !strings.HasSuffix(out.String(), "\r\x1b[2K") {
		t.Errorf("the status line is left on the screen:\n%q", out.String())
	}
	if long := wording.Short(strings.Repeat("word ", 100)); len([]rune(long)) != 140 || !strings.HasSuffix(long, "…") {
		t.Errorf("a long line is cut to %q", long)
	}
}

func TestShow_DefaultSettings_PrintsRTOAndRPO(t *testing.T) {
	t.Parallel()
	rto := 24.0
	report := &verdict.Report{Verdict: verdict.Passed, AtDefaults: &measure.AtDefaults{RTOSeconds: 345.5, WorkSeconds: 7.5,
		WaitSeconds: 338, DNSSeconds: 120, RPOAtMostSeconds: new(5.25)}}
	report.Measures.RTOSeconds = &rto
	var out bytes.Buffer
	Verdict(&out, report, "folder")
	for _, want := range []string{"RTO                        24.000 s\n",
		"RTO at default settings   345.500 s: 7.500 s of work as measured, 338 s of waits",
		"RPO at default settings     5.250 s at most"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// Goals stand beside what was measured, and phases in the order in which they follow each other.
func TestShow_Measures_PrintsGoalsAndPhasesInOrder(t *testing.T) {
	t.Parallel()
	report := &verdict.Report{
		Verdict: verdict.Passed,
		Measures: measure.Measures{
			APIDowntimeSeconds: new(22.4), APILongestGapSeconds: new(22.4), LostWrites: new(0), RestoresAtOnce: new(2),
			RPOSeconds: new(0.75), RTOSeconds: new(22.4),
			Phases: map[string]float64{
				"asked": 0.1, "restore": 14.3, "total": 14.5, "apiDown.restore": 9, "recovery.detected": 10.1,
				"recovery.ownerMoved": 10.4, "recovery.etcdRestored": 18.5,
				"recovery.firstWrite": 22.4, "recovery.extensions": 24.6, "recovery.steady": 45.3,
			},
		},
		Objectives: []verdict.Objective{
			{Measure: "apiDowntime", Max: 90}, {Measure: "rto", Max: 45}, {Measure: "rpo", Max: 1.5}, {Measure: "lostWrites"},
			{Measure: "restoresAtOnce", Max: 2},
		},
	}
	var out bytes.Buffer
	Verdict(&out, report, "folder")
	_, got, _ := strings.Cut(out.String(), "on , --seed 0\n")
	want := `  API downtime                  22.400 s (goal 90 s)
  longest outage                22.400 s
  lost writes                        0 (goal 0)
  restores at once                   2 (goal 2)
  RPO                            0.750 s (goal 1.5 s)
  RTO                           22.400 s (goal 45 s)
  phase asked                    0.100 s
  phase restore                 14.300 s
  phase total                   14.500 s
  phase recovery.detected       10.100 s
  phase recovery.ownerMoved     10.400 s
  phase recovery.etcdRestored   18.500 s
  phase recovery.firstWrite     22.400 s
  phase recovery.extensions     24.600 s
  phase recovery.steady         45.300 s
  kept in folder; make a page to look at with transplant report folder
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
