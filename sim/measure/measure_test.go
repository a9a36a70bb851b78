package measure_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

type at struct {
	second float64
	p      timeline.Payload
}

func d(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func history(all ...at) []timeline.Event {
	var events []timeline.Event
	for i, one := range all {
		events = append(events, timeline.Event{Seq: i + 1, At: d(one.second), Kind: one.p.Kind(), Subject: "alpha",
			Payload: one.p})
	}
	return events
}

func reached(second float64, outcome timeline.Outcome) at {
	return at{second + 0.1, timeline.Reached{Outcome: outcome, Sent: timeline.Moment(d(second)),
		Answered: timeline.Moment(d(second + 0.1))}}
}

func wrote(second float64, number int, version int64) at {
	return at{second, timeline.Write{
		Number: number, Key: "w", Verb: "patch", Outcome: timeline.Acknowledged, ResourceVersion: version,
		Sent: timeline.Moment(d(second - 0.1)), Answered: timeline.Moment(d(second)),
	}}
}

// created wrote a key of its own.
func created(second float64, number int, version int64) at {
	one := wrote(second, number, version)
	w := one.p.(timeline.Write)
	w.Key, w.Verb = fmt.Sprintf("w-%d", number), "create"
	return at{second, w}
}

// holds says which of those are there.
func holds(second float64, numbers ...int) at {
	var seen timeline.DataSeen
	for _, number := range numbers {
		seen.Keys = append(seen.Keys, timeline.DataKey{Key: fmt.Sprintf("w-%d", number), Number: number})
	}
	return at{second, seen}
}

func shoot(second float64, spec, status, operation, state string) at {
	return at{second, timeline.ShootSeen{SpecSeed: spec, StatusSeed: status, Operation: timeline.Operation{Type: operation,
		State: state}}}
}

const good, bad = timeline.Acknowledged, timeline.Failed

func TestAvailability(t *testing.T) {
	t.Parallel()
	steady := at{0.5, timeline.ShootReady{}}
	asleep, awake := at{4, timeline.ShootSeen{WantsToSleep: true}}, at{7, timeline.ShootSeen{}}
	wake, woken := at{6, timeline.StepStarted{Verb: "wake", Index: 3}},
		at{6.5, timeline.StepEnded{Verb: "wake", Index: 3, Outcome: timeline.StepDone}}
	for name, c := range map[string]struct {
		events []timeline.Event
		want   measure.Availability
	}{
		"not known to be ready": {events: history(reached(1, bad), reached(2, good)),
			want: measure.Availability{Attempted: true}},
		"nobody tried, for a moment": {
			events: history(steady, at{2, timeline.Settled{}}),
			want:   measure.Availability{Due: []measure.Interval{{From: d(0.5), To: d(2)}}},
		},
		"nobody tried": {
			events: history(steady, at{20, timeline.Settled{}}),
			want: measure.Availability{
				Due: []measure.Interval{{From: d(0.5), To: d(20)}}, Unobserved: []measure.Interval{{From: d(0.5), To: d(20)}},
			},
		},
		"always there": {
			events: history(steady, reached(1, good), reached(2, good)),
			want:   measure.Availability{Due: []measure.Interval{{From: d(0.5), To: d(2.1)}}, Attempted: true},
		},
		"one gap": {
			events: history(steady, reached(1, good), reached(2, bad), reached(3, bad), reached(4, good)),
			want: measure.Availability{
				Due: []measure.Interval{{From: d(0.5), To: d(4.1)}}, Outages: []measure.Interval{{From: d(1.1), To: d(4.1)}},
				Attempted: true,
			},
		},
		// The answer to the slow attempt is good, and came after two others had none that were sent later.
		"a slow good answer": {
			events: history(steady,
				at{2.9, timeline.Reached{Outcome: good, Sent: timeline.Moment(d(1)), Answered: timeline.Moment(d(2.9))}},
				reached(2, bad), reached(2.5, bad), reached(3, good)),
			want: measure.Availability{
				Due: []measure.Interval{{From: d(0.5), To: d(3.1)}}, Outages: []measure.Interval{{From: d(2), To: d(3.1)}},
				Attempted: true,
			},
		},
		// The first outage ends with the answer to an attempt that was sent before the next one fails.
		"two that overlap": {
			events: history(steady, reached(1, good), reached(2, bad),
				at{3.5, timeline.Reached{Outcome: good, Sent: timeline.Moment(d(2.5)), Answered: timeline.Moment(d(3.5))}},
				reached(3, bad), reached(3.2, bad), reached(4, good)),
			want: measure.Availability{
				Due: []measure.Interval{{From: d(0.5), To: d(4.1)}}, Outages: []measure.Interval{{From: d(1.1), To: d(3.5)},
					{From: d(3.5), To: d(4.1)}}, Attempted: true,
			},
		},
		"a blip overtaken": {
			events: history(steady, reached(1, good), reached(2, bad), reached(2.1, good), reached(3, good)),
			want: measure.Availability{
				Due: []measure.Interval{{From: d(0.5), To: d(3.1)}}, Outages: []measure.Interval{{From: d(1.1), To: d(2.2)}},
				Attempted: true,
			},
		},
		"to the end": {
			events: history(steady, reached(1, good), reached(2, bad), reached(3, timeline.Unknown)),
			want: measure.Availability{
				Due: []measure.Interval{{From: d(0.5), To: d(3.1)}}, Outages: []measure.Interval{{From: d(1.1), To: d(3.1)}},
				Attempted: true,
			},
		},
		// Its seed is lost before anybody has reached it, and after it was ready.
		"away before the first good answer": {
			events: history(steady, reached(1, bad), reached(2, bad), reached(3, good)),
			want: measure.Availability{
				Due: []measure.Interval{{From: d(0.5), To: d(3.1)}}, Outages: []measure.Interval{{From: d(0.5), To: d(3.1)}},
				Attempted: true,
			},
		},
		"when it went away was not observed": {
			events: history(steady, reached(1, good), reached(9, bad), reached(10, good)),
			want: measure.Availability{
				Due:     []measure.Interval{{From: d(0.5), To: d(10.1)}},
				Outages: []measure.Interval{{From: d(9), To: d(10.1)}}, Unobserved: []measure.Interval{{From: d(1.1), To: d(9)}},
				Attempted: true,
			},
		},
		"when it came back was not observed": {
			events: history(steady, reached(1, good), reached(2, bad), reached(9, good)),
			want: measure.Availability{
				Due:     []measure.Interval{{From: d(0.5), To: d(9.1)}},
				Outages: []measure.Interval{{From: d(1.1), To: d(2.1)}}, Unobserved: []measure.Interval{{From: d(2.1), To: d(9)}},
				Attempted: true,
			},
		},
		"the probe ends early": {
			events: history(steady, reached(1, good), at{20, timeline.Settled{}}),
			want: measure.Availability{
				Due: []measure.Interval{{From: d(0.5), To: d(20)}}, Unobserved: []measure.Interval{{From: d(1.1), To: d(20)}},
				Attempted: true,
			},
		},
		"after it had settled": {
			events: history(steady, reached(1, good), at{2, timeline.Settled{}}, reached(3, bad)),
			want:   measure.Availability{Due: []measure.Interval{{From: d(0.5), To: d(2)}}, Attempted: true},
		},
		"hibernated": {
			events: history(steady, reached(1, good), reached(3, good), asleep, reached(5, bad), reached(6, bad), awake,
				reached(7.5, bad), reached(8, good)),
			want: measure.Availability{
				Due:     []measure.Interval{{From: d(0.5), To: d(4)}, {From: d(7), To: d(8.1)}},
				Away:    []measure.Interval{{From: d(4), To: d(7)}},
				Outages: []measure.Interval{{From: d(3.1), To: d(4)}, {From: d(7), To: d(8.1)}}, Attempted: true,
			},
		},
		"woken, and nobody has seen it awake": {
			events: history(steady, reached(1, good), reached(3, good), asleep, reached(5, bad), wake, woken, reached(7, good),
				reached(8, bad), reached(9, bad)),
			want: measure.Availability{
				Due:     []measure.Interval{{From: d(0.5), To: d(4)}, {From: d(6.5), To: d(9.1)}},
				Away:    []measure.Interval{{From: d(4), To: d(6.5)}},
				Outages: []measure.Interval{{From: d(3.1), To: d(4)}}, Unobserved: []measure.Interval{{From: d(6.5), To: d(9.1)}},
				Attempted: true,
			},
		},
		"woken and asleep again, and nobody has seen it awake": {
			events: history(steady, reached(3, good), asleep, reached(5, bad), wake, woken, reached(7, bad),
				at{8, timeline.StepStarted{Verb: "hibernate"}}, reached(9, bad)),
			want: measure.Availability{
				Due:     []measure.Interval{{From: d(0.5), To: d(4)}, {From: d(6.5), To: d(8)}},
				Away:    []measure.Interval{{From: d(4), To: d(6.5)}, {From: d(8), To: d(9.1)}},
				Outages: []measure.Interval{{From: d(3.1), To: d(4)}}, Unobserved: []measure.Interval{{From: d(0.5), To: d(3)},
					{From: d(6.5), To: d(8)}}, Attempted: true,
			},
		},
		"it answers though it was last seen asleep": {
			events: history(steady, reached(1, good), at{2, timeline.ShootSeen{WantsToSleep: true, Hibernated: true}},
				reached(3, bad), reached(4, good), reached(5, bad)),
			want: measure.Availability{
				Due:        []measure.Interval{{From: d(0.5), To: d(2)}, {From: d(4), To: d(5.1)}},
				Away:       []measure.Interval{{From: d(2), To: d(4)}},
				Outages:    []measure.Interval{{From: d(1.1), To: d(2)}},
				Unobserved: []measure.Interval{{From: d(4), To: d(5.1)}}, Attempted: true,
			},
		},
		"deleted, and created again": {
			events: history(steady, reached(1, good), at{2, timeline.StepStarted{Verb: "delete"}},
				at{3, timeline.ShootSeen{Absent: true}},
				at{29, timeline.ShootSeen{}}, at{30, timeline.ShootReady{}}, reached(30.5, bad), reached(31, good)),
			want: measure.Availability{
				Due:     []measure.Interval{{From: d(0.5), To: d(2)}, {From: d(30), To: d(31.1)}},
				Outages: []measure.Interval{{From: d(30), To: d(31.1)}}, Attempted: true,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, measure.AvailabilityOf(c.events, "alpha")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func number[T any](n T) *T { return &n }

func TestOf(t *testing.T) {
	t.Parallel()
	steady := at{0.5, timeline.ShootReady{TechnicalID: "x"}}
	valid := func(second float64, epoch, revision int64) at {
		return at{second, timeline.EpochSeen{Seed: "x", Epoch: epoch, Remaining: 1, Sent: timeline.Moment(d(second)),
			Answered: timeline.Moment(d(second)), Revision: revision}}
	}
	for name, c := range map[string]struct {
		events []timeline.Event
		want   measure.Measures
	}{
		"nothing applies": {events: history(steady)},
		"a planned migration": {
			events: history(steady, shoot(1, "a", "a", "Create", "Succeeded"), wrote(1, 1, 5), reached(1.5, good),
				shoot(2, "b", "a", "Create", "Succeeded"),
				shoot(2.5, "b", "a", "Migrate", "Processing"), reached(3, bad), shoot(4, "b", "a", "Migrate", "Succeeded"),
				shoot(4.5, "b", "b", "Restore", "Processing"), reached(5, good), shoot(6, "b", "b", "Restore", "Succeeded"),
				has(7, 1)),
			want: measure.Measures{
				APIDowntimeSeconds: number(3.5), APILongestGapSeconds: number(3.5), LostWrites: number(0), RPOSeconds: number(0.0),
				RestoresAtOnce: number(1),
				Phases: map[string]float64{
					"asked": 0.5, "migrate": 1.5, "handOver": 0.5, "restore": 1.5, "total": 4,
					"apiDown.asked": 0.5, "apiDown.migrate": 1.5, "apiDown.handOver": 0.5, "apiDown.restore": 0.6,
				},
			},
		},
		"lost writes": {
			events: history(steady, wrote(1, 1, 5), wrote(2, 2, 6), wrote(3, 3, 7), has(4, 1)),
			want:   measure.Measures{LostWrites: number(2), RPOSeconds: number(2.0)},
		},
		// Each restore has lost a second; what was written between them is there.
		"lost twice": {
			events: history(steady, valid(1, 1, 1), created(1, 1, 5), created(2, 2, 6), valid(8, 2, 1_000_000),
				created(10, 3, 1_000_001), created(20, 4, 1_000_002), created(21, 5, 1_000_003), holds(30, 1, 3, 4)),
			want: measure.Measures{LostWrites: number(2), RPOSeconds: number(1.0)},
		},
		// Its etcd is restored within the epoch, and again: each time it has lost a second.
		"lost twice in one epoch": {
			events: history(steady, valid(1, 1, 1), created(1, 1, 5), created(2, 2, 6), created(10, 3, 1_000_000_001),
				created(20, 4, 1_000_000_002), created(21, 5, 1_000_000_003),
				created(30, 6, 2_000_000_001), holds(40, 1, 3, 4, 6)),
			want: measure.Measures{LostWrites: number(2), RPOSeconds: number(1.0)},
		},
		// What the second owner has acknowledged was sent from 19.9 s on. Before that nobody acknowledged what could be lost.
		"all of an epoch is lost": {
			events: history(steady, valid(1, 1, 1), created(1, 1, 5), created(2, 2, 6), valid(19, 2, 1_000_000_000),
				created(20, 3, 1_000_000_001), created(20.5, 4, 1_000_000_002),
				valid(39, 3, 2_000_000_000), created(40, 5, 2_000_000_001), holds(50, 1, 2, 5)),
			want: measure.Measures{LostWrites: number(2), RPOSeconds: number(0.6)},
		},
		"all is lost": {
			events: history(steady, valid(1, 1, 1), created(10, 1, 5), created(12, 2, 6), holds(30)),
			want:   measure.Measures{LostWrites: number(2), RPOSeconds: number(2.1)},
		},
		// A hole is as large as what it takes to be without it.
		"lost from the middle": {
			events: history(steady, valid(1, 1, 1), created(1, 1, 5), created(2, 2, 6), created(9, 3, 7), created(10, 4, 8),
				holds(30, 1, 3)),
			want: measure.Measures{LostWrites: number(2), RPOSeconds: number(9.0)},
		},
		"recovery from a fault": {
			events: history(steady, shoot(1, "a", "a", "Create", "Succeeded"), valid(1, 1, 10), wrote(1, 1, 11),
				at{2, timeline.FaultInjected{}}, wrote(2.5, 2, 12), valid(8, 2, 1_000_000), wrote(9, 3, 1_000_001)),
			want: measure.Measures{RTOSeconds: number(7.0), Phases: map[string]float64{"recovery.firstWrite": 7}},
		},
		// Nobody has to recover from a move that was asked for: its price is the downtime.
		"a migration with a harmless fault": {
			events: history(steady, shoot(1, "a", "a", "Create", "Succeeded"), valid(1, 1, 10), wrote(1, 1, 11),
				at{2, timeline.FaultInjected{}}, wrote(2.5, 2, 12),
				shoot(3, "b", "a", "Create", "Succeeded"), shoot(3.5, "b", "a", "Migrate", "Processing"),
				shoot(5, "b", "a", "Migrate", "Succeeded"),
				shoot(5.5, "b", "b", "Restore", "Processing"), valid(8, 2, 1_000_000), wrote(9, 3, 1_000_001),
				shoot(10, "b", "b", "Restore", "Succeeded")),
			want: measure.Measures{RestoresAtOnce: number(1), Phases: map[string]float64{"asked": 0.5, "migrate": 1.5,
				"handOver": 0.5, "restore": 4.5, "total": 7}},
		},
		"a fault that no owner fell to": {events: history(steady, valid(1, 1, 10), wrote(1, 1, 11),
			at{2, timeline.FaultInjected{}}, wrote(2.5, 2, 12))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, measure.Of(c.events)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSeveralMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	phases := measure.Phases(history(
		shoot(1, "b", "a", "Reconcile", "Succeeded"), shoot(2, "b", "a", "Migrate", "Processing"),
		shoot(3, "b", "b", "Restore", "Processing"), shoot(4, "b", "b", "Restore", "Succeeded"),
		// The state of the first restore is still there when the second migration is asked for.
		shoot(5, "a", "b", "Restore", "Succeeded"), shoot(5.5, "a", "b", "Restore", "Succeeded"),
		shoot(6, "a", "b", "Migrate", "Processing"), shoot(8, "a", "a", "Restore", "Succeeded"),
	))
	want := map[string]float64{"alpha.1.asked": 1, "alpha.1.restore": 1, "alpha.1.total": 3, "alpha.2.asked": 1,
		"alpha.2.restore": 0, "alpha.2.total": 3}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
