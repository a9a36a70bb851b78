package verdict_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// TestEvidence_CourseWithAHole_IsNoVerdict takes from recorded runs that pass what the engine alone records, piece
// by piece, or blinds a probe that has to see. Nothing counts the pieces as missing: the engine might never have
// recorded them. What is left shows neither that the run passes nor that the product is at fault.
func TestEvidence_CourseWithAHole_IsNoVerdict(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, file := range recordedRuns(t) {
		whole := readRecord(t, file)
		if r, err := verdict.Judge(whole); err != nil || r.Verdict != verdict.Passed {
			continue
		}
		_, started, _ := timeline.First[timeline.RunStarted](whole)
		if started.Heartbeat == 0 {
			continue
		}
		for name, events := range holes(whole) {
			checked++
			t.Run(nameOfRun(file)+"/"+name, func(t *testing.T) {
				t.Parallel()
				r, err := verdict.Judge(recounted(events))
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != verdict.Error && r.Verdict != verdict.Inconclusive {
					t.Errorf("the verdict is %s %v", r.Verdict, r.Violations)
				}
			})
		}
	}
	if checked == 0 {
		t.Error("no record has heartbeats and passes")
	}
}

// holes in a record, by what is missing.
func holes(whole []timeline.Event) map[string][]timeline.Event {
	all := map[string][]timeline.Event{}
	without := func(name string, is func(timeline.Event) bool) {
		all["no "+name] = keep(whole, func(e timeline.Event) bool { return !is(e) })
	}
	for _, e := range whole {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			without(fmt.Sprintf("step %d", p.Index+1), func(e timeline.Event) bool { return indexOf(e) == p.Index })
			without(fmt.Sprintf("begin of step %d", p.Index+1), is(e))
		case timeline.StepEnded:
			without(fmt.Sprintf("end of step %d", p.Index+1), is(e))
			without(fmt.Sprintf("step from step %d on", p.Index+1), func(e timeline.Event) bool { return indexOf(e) >= p.Index })
		case timeline.FaultInjected, timeline.FaultHealed, timeline.Settling, timeline.Settled, timeline.ShootReady:
			without(fmt.Sprintf("%s %s", e.Kind, e.Subject), is(e))
		}
	}
	for _, probe := range probesOf(whole) {
		if kinds := kindsOf(probe); len(kinds) == 1 && mustSee(kinds[0]) {
			all[probe+" goes blind"] = goesBlind(whole, probe)
		}
	}
	return all
}

func is(this timeline.Event) func(timeline.Event) bool {
	return func(e timeline.Event) bool { return e.Seq == this.Seq }
}

// indexOf the step that an event begins or ends; -1 for others.
func indexOf(e timeline.Event) int {
	switch p := e.Payload.(type) {
	case timeline.StepStarted:
		return p.Index
	case timeline.StepEnded:
		return p.Index
	}
	return -1
}

// mustSee says of what a probe records that it comes from the garden or the cloud, which answer all the time.
func mustSee(p timeline.Payload) bool {
	switch p.(type) {
	case timeline.ShootSeen, timeline.SeedSeen, timeline.CloudCalled:
		return true
	}
	return false
}

// goesBlind has every look of a probe fail after the middle of its looks, and the probe say so.
func goesBlind(whole []timeline.Event, probe string) (events []timeline.Event) {
	late := lateHalf(whole, probe)
	for _, e := range whole {
		looked, is := e.Payload.(timeline.Looked)
		switch {
		case is && late(e):
			looked.Looks = max(1, looked.Looks)
			looked.Failed, looked.Follows = looked.Looks, false
			e.Payload = looked
			said := timeline.Unseen{Probe: probe, Error: "connection refused", Final: looked.Final}
			events = append(events, e, timeline.Event{At: e.At, Kind: said.Kind(), Payload: said})
		case !late(e):
			events = append(events, e)
		}
	}
	return events
}

// recounted has the engine count what is on the record.
func recounted(events []timeline.Event) []timeline.Event {
	events = keep(events, func(timeline.Event) bool { return true })
	there := map[timeline.Kind]int{}
	for _, e := range events {
		there[e.Payload.Kind()]++
	}
	for i, e := range events {
		if ended, is := e.Payload.(timeline.RunEnded); is {
			ended.Recorded = maps.Clone(there)
			events[i].Payload = ended
		}
	}
	return events
}
