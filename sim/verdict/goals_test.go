package verdict_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// observation is what is seen of a shoot at a second of the run.
type observation struct {
	second float64
	shoot  string
	p      timeline.Payload
}

func moment(second float64) timeline.Moment {
	return timeline.Moment(second * float64(time.Second))
}

func written(second float64, shoot string, number int, outcome timeline.Outcome, version int64) observation {
	return observation{second, shoot, timeline.Write{Number: number, Key: "w", Verb: "patch", Outcome: outcome,
		Sent: moment(second - 0.1), Answered: moment(second), ResourceVersion: version}}
}

func owned(second float64, shoot string, epoch, revision int64) observation {
	return observation{second, shoot, timeline.EpochSeen{Seed: "a", Epoch: epoch, State: "Serving", Remaining: 1,
		Sent: moment(second), Answered: moment(second), Revision: revision}}
}

func on(second float64, shoot, spec, status string) observation {
	return observation{second, shoot, timeline.ShootSeen{SpecSeed: spec, StatusSeed: status,
		Operation: timeline.Operation{Type: "Restore", State: "Succeeded"}}}
}

func released(second float64, shoot string) observation {
	return observation{second, shoot, timeline.ShootSeen{SpecSeed: "b", StatusSeed: "a",
		Operation: timeline.Operation{Type: "Migrate", State: "Succeeded"}}}
}

func restoring(second float64, shoot string) observation {
	return observation{second, shoot, timeline.ShootSeen{SpecSeed: "b", StatusSeed: "b",
		Operation: timeline.Operation{Type: "Restore", State: "Processing"}}}
}

func holding(second float64, shoot string, number int) observation {
	return observation{second, shoot, timeline.DataSeen{Keys: []timeline.DataKey{{Key: "w", Number: number}}}}
}

func reachedOf(second float64, shoot string, outcome timeline.Outcome) observation {
	return observation{second, shoot, timeline.Reached{Outcome: outcome, Sent: moment(second), Answered: moment(second)}}
}

// two shoots are written to once a second; a fault at second 10, from 30 on the landscape settles, at 34 it has.
// The first of them comes back at 15.
func two(goals string, second ...observation) []timeline.Event {
	all := []observation{
		{1, "s1", timeline.ShootReady{TechnicalID: "s1"}}, {1, "s2", timeline.ShootReady{TechnicalID: "s2"}},
		on(2, "s1", "a", "a"), on(2, "s2", "a", "a"), owned(2, "s1", 1, 100), owned(2, "s2", 1, 100),
		{3, "s1", timeline.StepStarted{Verb: "load", WritesPerSecond: 1}},
		{3, "s2", timeline.StepStarted{Verb: "load", WritesPerSecond: 1}},
		reachedOf(3, "s1", timeline.Acknowledged), reachedOf(3, "s2", timeline.Acknowledged),
		{10, "fire", timeline.FaultInjected{Fault: "loss"}}, {10, "fire", timeline.FaultHealed{Hits: 1}},
		on(12, "s1", "b", "b"), owned(13, "s1", 2, 1_000_000), holding(35, "s1", 33), {30, "", timeline.Settling{}},
		{34, "", timeline.Settled{Converged: true}},
	}
	for n := 4; n < 34; n++ {
		outcome, version := timeline.Acknowledged, int64(100+n)
		switch {
		case n > 15:
			version = int64(1_000_000 + n)
		case n > 10:
			outcome, version = timeline.Failed, 0
		}
		all = append(all, written(float64(n), "s1", n, outcome, version), reachedOf(float64(n), "s1", timeline.Acknowledged))
	}
	all = append(all, second...)
	events := run("", goals)
	for _, one := range all {
		events = append(events, timeline.Event{At: time.Duration(moment(one.second)), Kind: one.p.Kind(), Subject: one.shoot,
			Payload: one.p})
	}
	return finish(events)
}

func finish(events []timeline.Event) []timeline.Event {
	slices.SortStableFunc(events[1:], func(a, b timeline.Event) int { return cmp.Compare(a.At, b.At) })
	events = append(events, timeline.Event{At: 40 * time.Second, Kind: timeline.RunEnded{}.Kind(),
		Payload: timeline.RunEnded{}})
	for i := range events {
		events[i].Seq = i + 1
	}
	return events
}

// writes to the second shoot, one a second, of which those until a moment are acknowledged, and those from another on.
func writes(until, from float64, version int64) (all []observation) {
	for n := 4; n < 34; n++ {
		switch at := float64(n); {
		case at <= until:
			all = append(all, written(at, "s2", n, timeline.Acknowledged, int64(100+n)))
		case at >= from:
			all = append(all, written(at, "s2", n, timeline.Acknowledged, version+int64(n)))
		default:
			all = append(all, written(at, "s2", n, timeline.Failed, 0))
		}
	}
	return all
}

// answers of the second shoot, one a second until a moment, and its writes.
func answers(until float64) []observation {
	all := writes(until, 99, 0)
	for second := 4.0; second <= until; second++ {
		all = append(all, reachedOf(second, "s2", timeline.Acknowledged))
	}
	return all
}

// tries to reach the second shoot, one a second, of which those until a moment and those from another on are good.
func tries(until, from float64) (all []observation) {
	for second := 4.0; second < 34; second++ {
		outcome := timeline.Failed
		if second <= until || second >= from {
			outcome = timeline.Acknowledged
		}
		all = append(all, reachedOf(second, "s2", outcome))
	}
	return all
}

func with(all []observation, more ...observation) []observation { return append(all, more...) }

func TestGoalsAreAboutEveryShoot(t *testing.T) {
	t.Parallel()
	const never = 99
	blind := observation{36, "", timeline.Unseen{Probe: "data of s2", Error: "nobody there", Final: true}}
	gone := observation{29, "s2", timeline.ShootSeen{Absent: true}}
	asleep := observation{29, "s2",
		timeline.ShootSeen{SpecSeed: "b", StatusSeed: "b", Hibernated: true, WantsToSleep: true}}
	const once = `"restoresAtOnce":{"max":1}`
	const rto, rpo, none, away = `"rto":{"max":"10s"}`, `"rpo":{"max":"2s"}`, `"lostWrites":{"max":0}`,
		`"apiDowntime":{"max":"5s"}`
	for name, c := range map[string]struct {
		events []timeline.Event
		want   verdict.Verdict
		says   string
	}{
		"rto, both recovered": {two(rto, with(writes(10, 16, 1_000_000), on(12, "s2", "b", "b"),
			owned(13, "s2", 2, 1_000_000))...), verdict.Passed, ""},
		"rto, one never comes back": {two(rto, writes(10, never, 0)...), verdict.Failed,
			"rto: s2 had acknowledged no write of a later owner after 22.9s, the goal is at most 10s"},
		"rto, one is late by less": {two(`"rto":{"max":"30s"}`, writes(10, never, 0)...), verdict.Inconclusive,
			"the goal for rto has not seen the recovery of s2"},
		"rto, one is asked no more": {two(rto, writes(10, never, 0)[:20]...), verdict.Inconclusive,
			"the goal for rto has not seen the recovery of s2"},
		"rto, one is not hit":             {two(rto, writes(never, never, 0)...), verdict.Passed, ""},
		"rto, the first owner comes back": {two(rto, writes(10, 20, 100)...), verdict.Passed, ""},
		"rto, who answers was not seen": {two(rto, with(writes(10, 16, 200), on(12, "s2", "b", "b"))...),
			verdict.Inconclusive, "the goal for rto has not seen the recovery of s2"},
		"rto, one was handed over": {two(rto, with(writes(10, 25, 1_000_000), released(11, "s2"), on(12, "s2", "b", "b"),
			owned(13, "s2", 2, 1_000_000))...), verdict.Passed, ""},
		"rto, both were handed over": {two(rto, with(writes(10, 16, 1_000_000), released(11, "s1"), released(11, "s2"),
			on(12, "s2", "b", "b"), owned(13, "s2", 2, 1_000_000))...),
			verdict.Inconclusive, "the goal for rto could not be measured"},
		"rto, one is gone":     {two(rto, with(writes(10, never, 0), gone)...), verdict.Passed, ""},
		"rto, one sleeps":      {two(rto, with(writes(10, never, 0), asleep)...), verdict.Passed, ""},
		"rto, one has no load": {unloaded(two(rto, tries(never, never)...)), verdict.Passed, ""},
		"rto, one has no load, and nobody tries to reach it": {unloaded(two(rto)), verdict.Inconclusive,
			"the goal for rto has not seen the recovery of s2"},
		"rto, one has no load, and comes back late": {unloaded(two(rto, with(tries(10, 26), on(12, "s2", "b", "b"),
			owned(13, "s2", 2, 1_000_000))...)),
			verdict.Failed, "rto is 16s, the goal is at most 10s"},
		"rto, one has no load, and never comes back": {unloaded(two(rto, tries(10, never)...)), verdict.Failed,
			"rto: s2 could not be reached after 23s, the goal is at most 10s"},
		"rto, one is not followed": {unfollowed(two(rto, writes(never, never, 0)...)), verdict.Inconclusive,
			"the goal for rto has not seen the recovery of s2"},
		"restores at once, one after the other": {two(once, with(writes(10, 16, 1_000_000), restoring(11, "s1"),
			restoring(13, "s2"), on(14, "s2", "b", "b"))...), verdict.Passed, ""},
		"restores at once, two": {two(once, with(writes(10, 16, 1_000_000), restoring(11, "s1"), restoring(11.5, "s2"),
			on(14, "s2", "b", "b"))...),
			verdict.Failed, "2 shoots were restored at once on one seed, the goal is at most 1"},
		"restores at once, one was not seen": {two(once, with(writes(10, 16, 1_000_000), restoring(11, "s1"),
			on(14, "s2", "b", "b"))...),
			verdict.Inconclusive, "the goal for restoresAtOnce has not seen the restore of s2 on b"},
		"restores at once, one is not followed": {unfollowed(two(once,
			with(writes(never, never, 0), restoring(11, "s1"))...)),
			verdict.Inconclusive, "the goal for restoresAtOnce has not seen the Shoot s2 in the garden"},
		"rto, the run was not carried out": {notHealed(two(rto, writes(10, never, 0)...)), verdict.Error, "heal: stuck"},
		"rpo, both read": {two(rpo, with(writes(never, never, 0), holding(35, "s2", 33))...), verdict.Passed,
			""},
		"rpo, the data of one is unseen": {two(rpo, with(writes(10, never, 0), blind)...), verdict.Inconclusive,
			"the goal for rpo has not seen the data of s2 at the end"},
		"rpo, one hardly writes": {two(rpo, with(writes(10, never, 0)[:8], holding(35, "s2", 10))...),
			verdict.Inconclusive, "the goal for rpo has not seen the load of s2 as it was asked for: 8 of 31 writes"},
		"rpo, one acknowledges nothing": {two(rpo,
			with(writes(0, never, 0), written(2, "s2", 1, timeline.Acknowledged, 90), holding(35, "s2", 1))...),
			verdict.Inconclusive, "the goal for rpo has not seen acknowledged writes to s2"},
		"rpo, one is gone":     {two(rpo, with(writes(10, never, 0), gone)...), verdict.Passed, ""},
		"rpo, one has no load": {unloaded(two(rpo)), verdict.Passed, ""},
		"lost writes, one is unseen": {two(none, with(writes(10, never, 0), blind)...), verdict.Inconclusive,
			"the goal for lostWrites has not seen the data of s2 at the end"},
		"downtime, one is tried no more": {two(away, answers(12)...), verdict.Inconclusive,
			"the goal for apiDowntime has not seen whether s2 could be reached for 22s of the run (the longest part from 12s " +
				"to 34s)"},
		"downtime, both are reached": {two(away, answers(34)...), verdict.Passed, ""},
		"downtime, one sleeps":       {two(away, with(answers(28), asleep)...), verdict.Passed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := verdict.Judge(c.events)
			if err != nil {
				t.Fatal(err)
			}
			said := r.Reasons
			for _, v := range r.Violations {
				said = append(said, v.Message)
			}
			if text := strings.Join(said, "; "); r.Verdict != c.want || !strings.Contains(text, c.says) ||
				(c.says == "") != (text == "") {
				t.Errorf("%s: %q; want %s: %q", r.Verdict, text, c.want, c.says)
			}
		})
	}
}

func TestARecoveryThatDoesNotEndIsProvedByTheLastAttempt(t *testing.T) {
	t.Parallel()
	events := two(`"rto":{"max":"10s"}`, writes(10, 99, 0)...)
	r, err := verdict.Judge(events)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) != 1 || r.Violations[0].Measure != "rto" || !r.Objectives[0].Missed() ||
		len(r.Violations[0].Events) != 2 {
		t.Fatalf("violations %+v, objectives %+v", r.Violations, r.Objectives)
	}
	fault, last := events[r.Violations[0].Events[0]-1], events[r.Violations[0].Events[1]-1]
	if _, is := fault.Payload.(timeline.FaultInjected); !is || last.Subject != "s2" || last.At != 33*time.Second {
		t.Errorf("proved by %+v and %+v", fault, last)
	}
	if least := *r.Objectives[0].Measured; least != 22.9 {
		t.Errorf("the RTO is at least %gs, want 22.9s", least)
	}
}

// One that is late and one that never comes back are two misses, each with its own figure.
func TestJudge_LateRecoveryBesideEndlessOne_ReportsBoth(t *testing.T) {
	t.Parallel()
	r, err := verdict.Judge(two(`"rto":{"max":"2s"}`, writes(10, 99, 0)...))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, v := range r.Violations {
		said = append(said, v.Message)
	}
	want := []string{"rto: s2 had acknowledged no write of a later owner after 22.9s, the goal is at most 2s",
		fmt.Sprintf("rto is %gs, the goal is at most 2s", *r.Measures.RTOSeconds)}
	if !slices.Equal(said, want) || *r.Measures.RTOSeconds > 20 {
		t.Errorf("said is %q, want %q", said, want)
	}
}

// unloaded takes the load off the second shoot.
func unloaded(events []timeline.Event) []timeline.Event {
	return slices.DeleteFunc(events, func(e timeline.Event) bool {
		_, is := e.Payload.(timeline.StepStarted)
		return is && e.Subject == "s2"
	})
}

// unfollowed leaves out what the garden says of the second shoot.
func unfollowed(events []timeline.Event) []timeline.Event {
	return slices.DeleteFunc(events, func(e timeline.Event) bool {
		_, is := e.Payload.(timeline.ShootSeen)
		return is && e.Subject == "s2"
	})
}

// notHealed makes the heal of the fault fail.
func notHealed(events []timeline.Event) []timeline.Event {
	for i, e := range events {
		if healed, is := e.Payload.(timeline.FaultHealed); is {
			healed.Error = "heal: stuck"
			events[i].Payload = healed
		}
	}
	return events
}
