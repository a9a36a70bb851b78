package oracle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

var probes = []string{
	"state of the seeds", "state of alpha", "nodes of alpha", "workload of alpha", "cloud ledger", "epochs of alpha",
	"reachability of alpha", "resource versions of alpha", "writer to alpha", "reader of alpha",
}

// watched is a run of a minute, with a load, in which every probe looks every five seconds. Change may replace an
// event, or leave it out by giving none.
func watched(change func(timeline.Event) []timeline.Event) []timeline.Event {
	var all []timeline.Event
	add := func(at time.Duration, e timeline.Event) {
		for _, e := range change(e) {
			e.At = at
			all = append(all, e)
		}
	}
	add(0, started())
	add(0, of("", timeline.LandscapeReady{Seeds: []string{"a", "b"}, Cloud: true}))
	add(time.Second, of("alpha", timeline.ShootReady{TechnicalID: id, Nodes: 1}))
	add(time.Second, of("alpha", timeline.StepStarted{Verb: "load", WritesPerSecond: 20}))
	add(time.Second, of("alpha", timeline.StepEnded{Verb: "load", Outcome: timeline.StepDone}))
	for at := 5 * time.Second; at <= time.Minute; at += 5 * time.Second {
		for _, probe := range probes {
			add(at, of(probe, timeline.Looked{Looks: 3}))
		}
	}
	add(time.Minute, of("", timeline.Settled{Converged: true}))
	for _, probe := range probes {
		add(time.Minute, of(probe, timeline.Looked{Ended: true}))
		add(time.Minute, of(probe, timeline.Looked{Looks: 1, Final: true}))
	}
	for i := range all {
		all[i].Seq, all[i].Kind = i+1, all[i].Payload.Kind()
	}
	return all
}

// whats of gaps.
func whats(gaps []oracle.Gap) (all []string) {
	for _, gap := range gaps {
		all = append(all, gap.What)
	}
	return all
}

func asItIs(e timeline.Event) []timeline.Event { return []timeline.Event{e} }

// without leaves out what the engine says of a probe.
func without(probe string, is func(timeline.Looked) bool) func(timeline.Event) []timeline.Event {
	return func(e timeline.Event) []timeline.Event {
		if looked, of := e.Payload.(timeline.Looked); of && e.Subject == probe && is(looked) {
			return nil
		}
		return []timeline.Event{e}
	}
}

func always(timeline.Looked) bool { return true }

func TestUnwatched_ProbeThatDoesNotLook_IsLacked(t *testing.T) {
	t.Parallel()
	if lacks := whats(oracle.Unwatched(watched(asItIs))); len(lacks) > 0 {
		t.Fatalf("where everybody looks it lacks %q", lacks)
	}
	for _, probe := range probes {
		lacks := whats(oracle.Unwatched(watched(without(probe, always))))
		if len(lacks) == 0 || !strings.Contains(lacks[0], fmt.Sprintf("%q would have seen", probe)) {
			t.Errorf("without %s it lacks %q", probe, lacks)
		}
	}
}

func TestUnwatched_Gap_IsNamed(t *testing.T) {
	t.Parallel()
	stands := func(looks int, follows bool) []timeline.Event {
		n := 0
		return watched(func(e timeline.Event) []timeline.Event {
			if looked, is := e.Payload.(timeline.Looked); is && e.Subject == "epochs of alpha" && !looked.Final &&
				!looked.Ended {
				if n++; n > 2 && n < 7 {
					e.Payload = timeline.Looked{Looks: looks, Follows: follows}
				}
			}
			return []timeline.Event{e}
		})
	}
	lacks := whats(oracle.Unwatched(stands(0, false)))
	if len(lacks) != 1 || !strings.Contains(lacks[0], "from 10s to 35s") {
		t.Errorf("a probe that stands for 25 s: %q", lacks)
	}
	if lacks := whats(oracle.Unwatched(stands(0, true))); len(lacks) > 0 {
		t.Errorf("one that follows all the while: %q", lacks)
	}
	if lacks := whats(oracle.Unwatched(stands(1, false))); len(lacks) > 0 {
		t.Errorf("one that is slow: %q", lacks)
	}
}

func TestUnwatched_LastLook_IsLacked(t *testing.T) {
	t.Parallel()
	final := func(looked timeline.Looked) bool { return looked.Final }
	if lacks := whats(oracle.Unwatched(watched(without("nodes of alpha", final)))); len(lacks) != 1 ||
		lacks[0] != `the last look of "nodes of alpha"` {
		t.Errorf("lacks %q", lacks)
	}
}

// What only the last look finds has been missed by whoever was to follow it.
func TestUnwatched_FollowerThatMissed_IsNamed(t *testing.T) {
	t.Parallel()
	find := func(probe string, p timeline.Payload) []timeline.Event {
		return watched(func(e timeline.Event) []timeline.Event {
			if looked, is := e.Payload.(timeline.Looked); is && e.Subject == probe && looked.Final {
				return []timeline.Event{of("alpha", p), e}
			}
			if looked, is := e.Payload.(timeline.Looked); is && e.Subject == "nodes of alpha" && looked.Ended {
				return []timeline.Event{of("alpha", timeline.NodeSeen{Name: "n", UID: "u", Renewed: "2026-11-26T10:00:00Z"}), e}
			}
			return []timeline.Event{e}
		})
	}
	for name, c := range map[string]struct {
		probe string
		found timeline.Payload
		want  string
	}{
		"a shoot": {"state of alpha", timeline.ShootSeen{SpecSeed: "b"}, "found the Shoot as it is"},
		"a seed":  {"state of the seeds", timeline.SeedSeen{}, "found Seed alpha as it is"},
		"a pod":   {"workload of alpha", timeline.PodSeen{Name: "p", Gone: true}, "found pod p as it is"},
		"a node": {"nodes of alpha", timeline.NodeSeen{Name: "n", UID: "v", Renewed: "2026-11-26T10:00:00Z"},
			"found node n as it is"},
		"a lease": {"nodes of alpha", timeline.NodeSeen{Name: "n", UID: "u", Renewed: "2026-11-26T10:00:10Z"},
			""},
		"a lease much later": {"nodes of alpha", timeline.NodeSeen{Name: "n", UID: "u", Renewed: "2026-11-26T10:00:40Z"},
			"found node n as it is"},
		"something of another": {"state of alpha", timeline.PodSeen{Name: "p"}, ""},
	} {
		lacks := strings.Join(whats(oracle.Unwatched(find(c.probe, c.found))), "; ")
		if c.want == "" && lacks != "" || !strings.Contains(lacks, c.want) {
			t.Errorf("%s: lacks %q, want %q", name, lacks, c.want)
		}
	}
}

func TestUnwatched_DataThatNobodyCounted_IsLacked(t *testing.T) {
	t.Parallel()
	lacks := whats(oracle.Unwatched(history(started(), data(holds("k", 1, 5)))))
	if len(lacks) != 1 || lacks[0] != "how many keys a user counts in alpha at the end" {
		t.Errorf("lacks %q", lacks)
	}
	if lacks := whats(oracle.Unwatched(history(started(), data(), of("alpha", timeline.DataCounted{})))); len(lacks) > 0 {
		t.Errorf("lacks %q", lacks)
	}
}

// The first that a new shoot's probes see is no last look of the deleted one's.
func TestUnwatched_ShootCreatedAnew_HasMissedNothing(t *testing.T) {
	t.Parallel()
	pods := "workload of alpha"
	events := history(started(), of(pods, timeline.Looked{Ended: true}), of("alpha", timeline.PodSeen{Name: "p"}),
		of(pods, timeline.Looked{Looks: 1}),
		of(pods, timeline.Looked{Ended: true}), of(pods, timeline.Looked{Looks: 1, Final: true}))
	if lacks := whats(oracle.Unwatched(events)); len(lacks) > 0 {
		t.Errorf("lacks %q", lacks)
	}
}

func TestUnwatched_BlindnessUnsaid_IsNamed(t *testing.T) {
	t.Parallel()
	blind := func(complaint ...timeline.Event) []timeline.Event {
		return watched(func(e timeline.Event) []timeline.Event {
			if looked, is := e.Payload.(timeline.Looked); is && e.Subject == "nodes of alpha" && looked.Final {
				return append(complaint, of("nodes of alpha", timeline.Looked{Looks: 3, Failed: 3, Final: true}))
			}
			return []timeline.Event{e}
		})
	}
	if lacks := whats(oracle.Unwatched(blind())); len(lacks) != 1 || !strings.Contains(lacks[0],
		`why "nodes of alpha" could not see`) {
		t.Errorf("lacks %q", lacks)
	}
	if lacks := whats(oracle.Unwatched(blind(of("", timeline.Unseen{Probe: "nodes of alpha", Error: "no answer",
		Final: true})))); len(lacks) > 0 {
		t.Errorf("whoever says so lacks %q", lacks)
	}
}

// Garden and cloud answer all the time, unless a fault has them away.
func TestUnwatched_BlindGardenOrCloud_IsLacked(t *testing.T) {
	t.Parallel()
	blind := func(probe string) []timeline.Event {
		looks := 0
		return watched(func(e timeline.Event) []timeline.Event {
			looked, is := e.Payload.(timeline.Looked)
			if looks++; is && e.Subject == probe && e.At == 0 && looks > 60 {
				looked.Failed = looked.Looks
				return []timeline.Event{of("", timeline.Unseen{Probe: probe, Error: "no answer"}), of(probe, looked)}
			}
			return []timeline.Event{e}
		})
	}
	for probe, want := range map[string]bool{
		"state of alpha": true, "state of the seeds": true, "cloud ledger": true, "nodes of alpha": false,
		"epochs of alpha": false,
	} {
		lacks := whats(oracle.Unwatched(blind(probe)))
		if lacking := slices.ContainsFunc(lacks, func(l string) bool {
			return strings.Contains(l, "it did not look, or saw nothing")
		}); lacking != want {
			t.Errorf("%s: lacks %q", probe, lacks)
		}
	}
	events := blind("state of alpha")
	away := of("outage", timeline.FaultInjected{Clusters: []string{"garden"}})
	back := of("outage", timeline.FaultHealed{Hits: 1})
	away.At, back.At = 25*time.Second, 59*time.Second
	lacks := whats(oracle.Unwatched(slices.Insert(events, len(events)-len(probes), away, back)))
	if slices.ContainsFunc(lacks, func(l string) bool { return strings.Contains(l, "would have seen") }) {
		t.Errorf("while the garden is away: lacks %q", lacks)
	}
}

func TestUnwatched_RecordWithoutHeartbeat_IsTakenAsItIs(t *testing.T) {
	t.Parallel()
	events := watched(without("epochs of alpha", always))
	for _, run := range []timeline.RunStarted{{}, {Heartbeat: beat, Unwatched: true}} {
		events[0].Payload = run
		if lacks := whats(oracle.Unwatched(events)); len(lacks) > 0 {
			t.Errorf("%+v lacks %q", run, lacks)
		}
	}
}
