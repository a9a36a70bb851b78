package measure_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// served says that an epoch serves on a seed.
func served(second float64, seed string, number int64) at {
	return at{second, timeline.EpochSeen{
		Seed: seed, Epoch: number, State: "Serving", Remaining: 1, Revision: 1_000_000 * number,
		Sent: timeline.Moment(d(second - 0.1)), Answered: timeline.Moment(d(second)),
	}}
}

// acked is a write that an epoch has acknowledged.
func acked(second float64, number int, epoch int64) at {
	return wrote(second, number, 1_000_000*epoch+int64(number))
}

// strike is a fault of this name.
func strike(second float64, name string) at {
	return at{second, timeline.FaultInjected{Fault: name}}
}

// run is a history whose faults have names, and which begins with its scenario.
func run(scenario string, all ...at) []timeline.Event {
	events := history(append([]at{{0, timeline.RunStarted{Definition: []byte(scenario)}}}, all...)...)
	for i, e := range events {
		if p, is := e.Payload.(timeline.FaultInjected); is {
			events[i].Subject = p.Fault
		}
	}
	return events
}

// evacuated is a recovery on another seed, in the garden.
func evacuated(second float64, from, to string, epoch int64) []at {
	return []at{
		shoot(second, to, from, "Migrate", "Aborted"), shoot(second+0.1, to, to, "Restore", "Processing"),
		served(second+3.8, to, epoch),
		shoot(second+5, to, to, "Restore", "Succeeded"),
	}
}

func TestRTO_SeveralFaults_CountsFromTheNewestBeforeTheLoss(t *testing.T) {
	t.Parallel()
	const scenario = `{"spec":{"landscape":{"seeds":[{"name":"a"},{"name":"b"}]},"steps":[
		{"fault":{"name":"slow","slowBucket":{"actor":"control-planes-a","bytesPerSecond":"1Ki"}}},
		{"fault":{"name":"fire","loseCluster":{"cluster":"a"}}}]}}`
	before := []at{{1, timeline.ShootReady{}}, shoot(1, "a", "a", "Create", "Succeeded"), served(2, "a", 1),
		acked(3, 1, 1), acked(9.9, 2, 1)}
	first := slices.Concat(evacuated(20, "a", "b", 2), []at{acked(24, 3, 2), acked(99.9, 4, 2)})
	second := slices.Concat(evacuated(110, "b", "c", 3), []at{acked(130, 5, 3)})
	for name, c := range map[string]struct {
		events []timeline.Event
		want   float64
	}{
		"one fault": {run(scenario, slices.Concat(before, []at{strike(10, "fire")}, first)...), 14},
		"the second recovery is longer": {
			run(scenario, slices.Concat(before, []at{strike(10, "fire")}, first, []at{strike(100, "flood"), failed(100.1, 9)},
				second)...), 30},
		"the first recovery is longer": {
			run(scenario, slices.Concat(before, []at{strike(4, "fire"), failed(9.95, 8)}, first,
				[]at{strike(110, "flood"), failed(110.1, 9)}, second)...), 20},
		"a fault that did nothing before": {
			run(scenario, slices.Concat(before[:4], []at{strike(7, "latency")}, before[4:],
				[]at{strike(10, "fire"), failed(10.1, 9)}, first)...), 14},
		"a fault while it is away": {
			run(scenario, slices.Concat(before, []at{strike(10, "fire"), failed(10.1, 9), strike(15, "latency")}, first)...),
			14},
		// The owner goes on serving until its validity has lapsed.
		"a fault while it is away, and the owner was lost late": {
			run(scenario, slices.Concat(before, []at{strike(10, "partition"), acked(17, 7, 1), failed(17.1, 9),
				strike(18, "latency")}, first)...), 14},
		"a harmless fault between the fault and the loss": {
			run(scenario, slices.Concat(before, []at{strike(10, "fire"), strike(12, "slow"), acked(17, 7, 1), failed(17.1, 9)},
				first)...), 14},
		"the destination is lost on the way": {
			run(scenario, slices.Concat(before, []at{strike(10, "fire"), failed(10.1, 9),
				shoot(20, "b", "b", "Migrate", "Aborted"), strike(22, "flood")}, second)...), 120},
		"one attempt fails before the fault": {
			run(scenario, slices.Concat(before, []at{failed(9.95, 8), strike(10, "fire"), failed(10.1, 9)}, first)...), 14},
		"it sleeps on the way": {
			run(scenario, slices.Concat(before, []at{strike(10, "fire"), failed(10.1, 9),
				{11, timeline.ShootSeen{SpecSeed: "a", StatusSeed: "a", WantsToSleep: true}},
				shoot(19, "a", "a", "Reconcile", "Processing")}, first)...), 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(&c.want, measure.Of(c.events).RTOSeconds); diff != "" {
				t.Errorf("RTO (-want +got):\n%s", diff)
			}
		})
	}
	harmless := run(scenario, slices.Concat(before, []at{strike(10, "slow"), failed(10.1, 9)}, first)...)
	if m := measure.Of(harmless); m.RTOSeconds != nil {
		t.Errorf("from a fault that costs no owner the RTO is %g", *m.RTOSeconds)
	}
}

// How a shoot came to its owner is known when the end of its Migrate was seen.
func TestRTO_UnseenHandOver_IsNotMeasured(t *testing.T) {
	t.Parallel()
	before := []at{{1, timeline.ShootReady{}}, shoot(1, "a", "a", "Create", "Succeeded"), served(2, "a", 1),
		{2.5, timeline.StepStarted{Verb: "load", WritesPerSecond: 1}},
		acked(3, 1, 1), strike(4, "latency"), acked(9.9, 2, 1)}
	after := []at{acked(17, 3, 2), {20, timeline.Settling{}}, acked(22, 4, 2)}
	begun, ended, givenUp := shoot(10, "b", "a", "Migrate", "Processing"), shoot(12, "b", "a", "Migrate", "Succeeded"),
		shoot(12, "b", "b", "Migrate", "Aborted")
	restored := []at{served(15, "b", 2), shoot(18, "b", "b", "Restore", "Succeeded")}
	late := []at{served(15, "b", 2), shoot(15.5, "b", "a", "Migrate", "Succeeded"),
		shoot(18, "b", "b", "Restore", "Succeeded")}
	for name, c := range map[string]struct {
		events []at
		rto    *float64
		want   []measure.Unrecovered
	}{
		"it has succeeded": {slices.Concat(before, []at{begun, ended}, restored, after), nil, nil},
		"it was given up":  {slices.Concat(before, []at{begun, givenUp}, restored, after), number(13.0), nil},
		"its end was not seen": {slices.Concat(before, []at{begun}, restored, after), nil,
			[]measure.Unrecovered{{Shoot: "alpha"}}},
		"nothing of it was seen": {slices.Concat(before, restored, after), nil,
			[]measure.Unrecovered{{Shoot: "alpha"}}},
		"its end was recorded late": {slices.Concat(before, []at{begun}, late, after), nil,
			[]measure.Unrecovered{{Shoot: "alpha"}}},
		"anew on the seed that it had": {slices.Concat(before, []at{served(15, "a", 2)}, after), number(13.0), nil},
		// What was recorded late is of the owner before.
		"its end was recorded late, and the next owner was lost": {
			slices.Concat(before, []at{begun}, late, []at{acked(19, 3, 2), served(19.5, "b", 3), acked(19.6, 4, 3),
				{20, timeline.Settling{}}, acked(22, 5, 3)}),
			number(15.6), []measure.Unrecovered{{Shoot: "alpha"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := history(c.events...)
			if diff := cmp.Diff(c.rto, measure.Of(events).RTOSeconds); diff != "" {
				t.Errorf("RTO (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, measure.NotRecovered(events)); diff != "" {
				t.Errorf("not recovered (-want +got):\n%s", diff)
			}
		})
	}
}

// Nobody writes to the shoot, or only later. It has recovered when somebody reaches it.
func TestRTO_ShootWithoutLoad_IsMeasuredByItsAPI(t *testing.T) {
	t.Parallel()
	tried := func(from, to float64, outcome timeline.Outcome) (all []at) {
		for second := from; second <= to; second++ {
			all = append(all, reached(second, outcome))
		}
		return all
	}
	ready, state := at{1, timeline.ShootReady{}}, shoot(1, "a", "a", "Create", "Succeeded")
	before := slices.Concat([]at{ready, state, served(2, "a", 1)}, tried(2.5, 9.5, good), []at{strike(10, "fire")})
	settling, recovery := at{40, timeline.Settling{}}, evacuated(20, "a", "b", 2)
	for name, c := range map[string]struct {
		events []at
		rto    *float64
		want   []measure.Unrecovered
	}{
		"it comes back": {slices.Concat(before, tried(10.5, 29.5, bad), recovery, tried(30.5, 39.5, good), []at{settling},
			tried(40.5, 43.5, good)), number(20.6), nil},
		"it was filled before it was ready": {slices.Concat(before, []at{acked(1.5, 1, 1)}, tried(10.5, 29.5, bad), recovery,
			tried(30.5, 39.5, good), []at{settling},
			tried(40.5, 43.5, good)), number(20.6), nil},
		"the owner was seen late": {slices.Concat(before, tried(10.5, 19.5, bad), recovery, tried(20.5, 39.5, good),
			[]at{settling}, tried(40.5, 43.5, good)), number(10.6), nil},
		"it answers all the time": {slices.Concat(before, tried(10.5, 20.5, good), recovery, tried(21.5, 39.5, good),
			[]at{settling}, tried(40.5, 43.5, good)), number(14.6), nil},
		"nobody tried when it came back": {slices.Concat(before, tried(10.5, 15.5, bad), recovery, tried(30.5, 39.5, good),
			[]at{settling}, tried(40.5, 43.5, good)), nil,
			[]measure.Unrecovered{{Shoot: "alpha"}}},
		"it never comes back": {slices.Concat(before, tried(10.5, 39.5, bad), []at{settling}, tried(40.5, 43.5, bad)), nil,
			[]measure.Unrecovered{{Shoot: "alpha", Tried: d(33.5)}}},
		"nobody tries in the end": {slices.Concat(before, tried(10.5, 29.5, good), []at{settling}), nil,
			[]measure.Unrecovered{{Shoot: "alpha"}}},
		"it was not hit": {slices.Concat(before, tried(10.5, 39.5, good), []at{settling}, tried(40.5, 43.5, good)),
			nil, nil},
		"it is loaded afterwards": {slices.Concat(before, tried(10.5, 29.5, bad), recovery, tried(30.5, 39.5, good),
			[]at{{31, timeline.StepStarted{Verb: "load", WritesPerSecond: 1}}, acked(32, 1, 2), settling, acked(41, 2, 2)}),
			number(20.6), nil},
		// Whoever writes is the measure, and nobody knows who acknowledged before.
		"the writes of its load were not seen": {
			slices.Concat([]at{{0.5, timeline.StepStarted{Verb: "load", WritesPerSecond: 1}}}, before, tried(10.5, 29.5, bad),
				recovery,
				tried(30.5, 39.5, good), []at{settling}), nil, []measure.Unrecovered{{Shoot: "alpha"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := history(c.events...)
			for i, e := range events {
				if e.At == d(1.5) {
					events[i].Actor = "observer"
				}
			}
			slices.SortStableFunc(events, func(a, b timeline.Event) int { return int(a.At - b.At) })
			if diff := cmp.Diff(c.rto, measure.Of(events).RTOSeconds); diff != "" {
				t.Errorf("RTO (-want +got):\n%s", diff)
			}
			got := measure.NotRecovered(events)
			for i := range got {
				got[i].Events = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("not recovered (-want +got):\n%s", diff)
			}
		})
	}
}

// Where nothing was seen of a shoot before the fault, its being ready says that it was there.
func TestNotRecovered_StateBeforeTheFaultUnseen_IsALack(t *testing.T) {
	t.Parallel()
	before := []at{{1, timeline.ShootReady{}}, served(2, "a", 1),
		{2.5, timeline.StepStarted{Verb: "load", WritesPerSecond: 1}}, acked(3, 1, 1), strike(4, "fire"),
		shoot(5, "a", "a", "Reconcile", "Succeeded"), {20, timeline.Settling{}}}
	for name, c := range map[string]struct {
		end  at
		want []measure.Unrecovered
	}{
		"it answers": {acked(22, 2, 1), []measure.Unrecovered{{Shoot: "alpha"}}},
		"it does not": {failed(22, 2),
			[]measure.Unrecovered{{Shoot: "alpha", Tried: d(17.9), Wrote: true, Events: []int{5, 8}}}},
	} {
		if diff := cmp.Diff(c.want, measure.NotRecovered(history(append(slices.Clone(before), c.end)...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnseenRestores(t *testing.T) {
	t.Parallel()
	ready, state := at{1, timeline.ShootReady{}}, shoot(1, "a", "a", "Create", "Succeeded")
	working, done := shoot(5, "b", "b", "Restore", "Processing"), shoot(7, "b", "b", "Restore", "Succeeded")
	for name, c := range map[string]struct {
		events []at
		want   []string
	}{
		"nobody followed it": {[]at{ready},
			[]string{"the Shoot alpha in the garden, which says when it is restored"}},
		"it stays":              {[]at{ready, state, served(2, "a", 1)}, nil},
		"it was seen":           {[]at{ready, state, served(2, "a", 1), working, served(6, "b", 2), done}, nil},
		"only its end was seen": {[]at{ready, state, done}, []string{"the restore of alpha on b"}},
		"only the new owner was seen": {[]at{ready, state, served(2, "a", 1), served(6, "b", 2)},
			[]string{"the restore of alpha on b"}},
		"an operator restores it outside any seed": {[]at{ready, state, served(2, "a", 1),
			shoot(5, "a", "outside", "Migrate", "Processing"), served(6, "outside", 2),
			shoot(8, "a", "a", "Restore", "Processing"), served(9, "a", 3)}, nil},
		"it was recorded late": {[]at{ready, state, served(2, "a", 1), served(4, "b", 2), working, done}, nil},
		"it goes back, and that was not seen": {[]at{ready, state, working, done, shoot(9, "a", "a", "Restore", "Succeeded")},
			[]string{"the restore of alpha on a"}},
		"it comes a second time, and only once seen": {[]at{ready, state, working, done,
			shoot(9, "a", "a", "Restore", "Processing"), shoot(12, "b", "b", "Restore", "Succeeded")},
			[]string{"the restore of alpha on b"}},
	} {
		if diff := cmp.Diff(c.want, measure.UnseenRestores(history(c.events...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
