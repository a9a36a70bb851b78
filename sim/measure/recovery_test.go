package measure_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func epoch(second float64, number int64, state string, revision int64) at {
	return at{second, timeline.EpochSeen{
		Seed: "x", Epoch: number, State: state, Remaining: timeline.Length(d(3)), Revision: revision,
		Sent: timeline.Moment(d(second - 0.1)), Answered: timeline.Moment(d(second)),
	}}
}

// has is what was in the data at the end.
func has(second float64, number int) at {
	return at{second, timeline.DataSeen{Keys: []timeline.DataKey{{Key: "w", Number: number}}}}
}

func owner(second float64) at {
	return at{second, timeline.CloudCalled{
		Verb: "put", What: "records", Name: "owner.alpha.p.shoots.transplant.test", Took: true,
		Made: timeline.Moment(d(second)),
	}}
}

func TestRecovery(t *testing.T) {
	t.Parallel()
	steady := at{1, timeline.ShootReady{}}
	fire := at{10, timeline.FaultInjected{Fault: "loseCluster(a)"}}
	lost := []at{
		steady, owner(1), shoot(1, "a", "a", "Create", "Succeeded"), epoch(2, 1, "Serving", 100), wrote(3, 1, 100),
		wrote(9.9, 2, 110), fire,
		shoot(20, "b", "a", "Reconcile", "Succeeded"), shoot(20.1, "b", "b", "Migrate", "Aborted"),
		shoot(20.2, "b", "b", "Restore", "Processing"),
		owner(20.5), epoch(28, 2, "Starting", 0), epoch(30, 2, "Serving", 1000000000), wrote(34, 3, 1000000001),
		shoot(38, "b", "b", "Restore", "Succeeded"), {53.5, timeline.Settled{Converged: true, Since: timeline.Moment(d(50))}},
	}
	want := map[string]float64{
		"recovery.detected": 10, "recovery.ownerMoved": 10.5, "recovery.etcdRestored": 20, "recovery.firstWrite": 24,
		"recovery.extensions": 28, "recovery.steady": 40,
	}
	if diff := cmp.Diff(want, measure.Recovery(history(lost...))); diff != "" {
		t.Error(diff)
	}
	m := measure.Of(history(lost...))
	if m.RTOSeconds == nil || *m.RTOSeconds != 24 || m.Phases["recovery.firstWrite"] != 24 {
		t.Errorf("RTO is %v, phases %v", m.RTOSeconds, m.Phases)
	}
	// 24 s, of which 10 s of grace and 6.5 s of a new owner's wait are waits of the scenario; 300 s and 38 s are those of
	// the defaults.
	projected := &measure.AtDefaults{RTOSeconds: 345.5, WorkSeconds: 7.5, WaitSeconds: 338, DNSSeconds: 120}
	if diff := cmp.Diff(projected, measure.Defaults(history(lost...), landscape.Settings{})); diff != "" {
		t.Error(diff)
	}
	// With a longer wait in the scenario than was seen, the old owner has left a final snapshot: nobody waited.
	longer := landscape.Settings{OwnerCheckTimeout: metav1.Duration{Duration: 30 * time.Second}}
	projected = &measure.AtDefaults{RTOSeconds: 314, WorkSeconds: 14, WaitSeconds: 300, DNSSeconds: 120}
	if diff := cmp.Diff(projected, measure.Defaults(history(lost...), longer)); diff != "" {
		t.Error(diff)
	}
	// Of the grace period 0.2 s were over when the seed was lost: its last renewal was before.
	earlier := slices.Clone(lost)
	earlier[7] = shoot(19.8, "b", "a", "Reconcile", "Succeeded")
	projected = &measure.AtDefaults{RTOSeconds: 345.7, WorkSeconds: 7.7, WaitSeconds: 338, DNSSeconds: 120}
	if diff := cmp.Diff(projected, measure.Defaults(history(earlier...), landscape.Settings{})); diff != "" {
		t.Error(diff)
	}
	// Who moves it long before has not waited for the grace period.
	earlier[7] = shoot(12, "b", "a", "Reconcile", "Succeeded")
	projected = &measure.AtDefaults{RTOSeconds: 55.5, WorkSeconds: 17.5, WaitSeconds: 38, DNSSeconds: 120}
	if diff := cmp.Diff(projected, measure.Defaults(history(earlier...), landscape.Settings{})); diff != "" {
		t.Error(diff)
	}
	// What was written at 3 s is the newest that survived, at 9.9 s the newest that the first owner has lost: 5.9 s more
	// than lies between two incremental backups of the scenario. What the second has lost besides is less.
	atMost := func(events ...at) *float64 {
		return measure.Defaults(history(events...), landscape.Settings{}).RPOAtMostSeconds
	}
	if got := atMost(append(lost, has(60, 1))...); got == nil || *got != 10.9 {
		t.Errorf("at the defaults at most %v s are lost", got)
	}
	if got := atMost(append(lost, has(60, 3))...); got == nil || *got != 5 {
		t.Errorf("at the defaults at most %v s are lost, where nothing was", got)
	}
	for name, events := range map[string][]at{
		"no fault": {steady, epoch(2, 1, "Serving", 100), wrote(3, 1, 100)},
		"the same owner": {steady, epoch(2, 1, "Serving", 100), wrote(3, 1, 100), fire, epoch(11, 1, "Serving", 120),
			wrote(12, 2, 120)},
	} {
		if got := measure.Defaults(history(events...), landscape.Settings{}); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
		if got := measure.Recovery(history(events...)); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Between the first fault and the loss the shoot was moved by plan. What that took says nothing about the recovery.
func TestMomentsOfARecoveryAreNotThoseOfAMoveBefore(t *testing.T) {
	t.Parallel()
	fire := at{10, timeline.FaultInjected{Fault: "latency"}}
	move := []at{
		shoot(11, "b", "a", "Create", "Succeeded"), shoot(12, "b", "a", "Migrate", "Processing"),
		shoot(14, "b", "a", "Migrate", "Succeeded"),
		shoot(14.5, "b", "b", "Restore", "Processing"), owner(15), epoch(18, 2, "Serving", 1_000_000),
		wrote(19, 2, 1_000_001),
	}
	moved := shoot(20, "b", "b", "Restore", "Succeeded") // after it has begun to serve
	loss := []at{
		wrote(39.5, 3, 1_000_002), {40, timeline.FaultInjected{Fault: "loseCluster(b)"}},
		shoot(41, "b", "b", "Restore", "Succeeded"),
		shoot(51, "c", "b", "Migrate", "Aborted"), shoot(51.5, "c", "c", "Restore", "Processing"), owner(52),
		epoch(65, 3, "Serving", 2_000_000), wrote(66, 3, 2_000_001), shoot(67, "c", "c", "Restore", "Succeeded"),
		{80, timeline.Settled{Converged: true, Since: timeline.Moment(d(75))}},
	}
	before := []at{{1, timeline.ShootReady{}}, owner(1), shoot(1, "a", "a", "Create", "Succeeded"),
		epoch(2, 1, "Serving", 100), wrote(3, 1, 100)}
	for name, c := range map[string]struct {
		events []at
		want   map[string]float64
		// The work is what the RTO of 26 s holds beside 10 s of grace and 6.5 s of a new owner's wait.
		projected *measure.AtDefaults
	}{
		"the fault, the move, the loss": {
			events: slices.Concat(before, []at{fire}, move, []at{moved}, loss),
			want: map[string]float64{
				"recovery.detected": 11, "recovery.ownerMoved": 12, "recovery.etcdRestored": 25, "recovery.firstWrite": 26,
				"recovery.extensions": 27, "recovery.steady": 35,
			},
			projected: &measure.AtDefaults{RTOSeconds: 347.5, WorkSeconds: 9.5, WaitSeconds: 338, DNSSeconds: 120},
		},
		"the move, the fault, the loss": {
			events: slices.Concat(before, move, []at{{19.5, fire.p}, moved}, loss),
			want: map[string]float64{
				"recovery.detected": 11, "recovery.ownerMoved": 12, "recovery.etcdRestored": 25, "recovery.firstWrite": 26,
				"recovery.extensions": 27, "recovery.steady": 35,
			},
			projected: &measure.AtDefaults{RTOSeconds: 347.5, WorkSeconds: 9.5, WaitSeconds: 338, DNSSeconds: 120},
		},
		// Whom nobody reached where it was recovered had been recovered there.
		"the loss, and then a move": {
			events: slices.Concat(before, []at{{30, fire.p}}, []at{
				shoot(41, "b", "a", "Migrate", "Aborted"), shoot(41.5, "b", "b", "Restore", "Processing"), owner(42),
				epoch(55, 2, "Serving", 1_000_000), shoot(57, "b", "b", "Restore", "Succeeded"),
				shoot(60, "c", "b", "Migrate", "Succeeded"), owner(61), epoch(65, 3, "Serving", 2_000_000), wrote(66, 2, 2_000_001),
				shoot(67, "c", "c", "Restore", "Succeeded"),
			}),
			want: map[string]float64{
				"recovery.detected": 11, "recovery.ownerMoved": 12, "recovery.etcdRestored": 25, "recovery.firstWrite": 36,
				"recovery.extensions": 27,
			},
			projected: &measure.AtDefaults{RTOSeconds: 357.5, WorkSeconds: 19.5, WaitSeconds: 338, DNSSeconds: 120},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, measure.Recovery(history(c.events...))); diff != "" {
				t.Errorf("moments (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.projected, measure.Defaults(history(c.events...), landscape.Settings{})); diff != "" {
				t.Errorf("at the defaults (-want +got):\n%s", diff)
			}
		})
	}
}

// A recovery is a change of owner that the owner before has not handed over.
func TestRecovery_HandedOver_IsNoRecovery(t *testing.T) {
	t.Parallel()
	before := []at{{1, timeline.ShootReady{}}, shoot(1, "a", "a", "Create", "Succeeded"), epoch(2, 1, "Serving", 100),
		wrote(3, 1, 100)}
	fire := at{10, timeline.FaultInjected{Fault: "loseCluster(a)"}}
	migrating, left := shoot(5, "b", "a", "Migrate", "Processing"), shoot(7, "b", "a", "Migrate", "Succeeded")
	restoring := shoot(8, "b", "b", "Restore", "Processing")
	moved := []at{migrating, left, restoring, epoch(9, 2, "Serving", 1_000_000), wrote(9.5, 2, 1_000_001),
		shoot(9.6, "b", "b", "Restore", "Succeeded")}
	after := func(parts ...[]at) (all []at) {
		for _, part := range append([][]at{before}, parts...) {
			all = append(all, part...)
		}
		return all
	}
	for name, c := range map[string]struct {
		events    []at
		rto       *float64
		evacuated *measure.Evacuation
	}{
		"the source dies after it has released the shoot": {
			events: after([]at{migrating, left, restoring, fire, epoch(12, 2, "Serving", 1_000_000), wrote(13, 2, 1_000_001),
				shoot(14, "b", "b", "Restore", "Succeeded")}),
		},
		"the destination has to begin twice": {
			events: after([]at{migrating, left, restoring, fire, epoch(11, 2, "Starting", 0), epoch(12, 3, "Starting", 0),
				epoch(13, 3, "Serving", 1_000_000), wrote(14, 2, 1_000_001),
				shoot(15, "b", "b", "Restore", "Succeeded")}),
		},
		"the source dies before it has released the shoot": {
			events: after([]at{migrating, fire, shoot(20, "b", "b", "Migrate", "Aborted"),
				shoot(20.1, "b", "b", "Restore", "Processing"), epoch(30, 2, "Serving", 1_000_000),
				wrote(31, 2, 1_000_001), shoot(32, "b", "b", "Restore", "Succeeded")}),
			rto: number(21.0), evacuated: &measure.Evacuation{Shoots: 1, Seconds: 22},
		},
		"the destination dies too": {
			events: after([]at{migrating, left, restoring, fire, shoot(20, "c", "b", "Migrate", "Aborted"),
				shoot(20.1, "c", "c", "Restore", "Processing"),
				epoch(30, 3, "Serving", 1_000_000), wrote(31, 2, 1_000_001), shoot(32, "c", "c", "Restore", "Succeeded")}),
			rto: number(21.0), evacuated: &measure.Evacuation{Shoots: 1, Seconds: 22},
		},
		"a loss after a migration": {
			events: after(moved, []at{fire, shoot(20, "c", "b", "Migrate", "Aborted"), epoch(30, 3, "Serving", 2_000_000),
				wrote(31, 3, 2_000_001), shoot(32, "c", "c", "Restore", "Succeeded")}),
			rto: number(21.0), evacuated: &measure.Evacuation{Shoots: 1, Seconds: 22},
		},
		"a migration and then a loss": {
			events: after([]at{{4, timeline.FaultInjected{}}}, moved, []at{fire, shoot(20, "c", "b", "Migrate", "Aborted"),
				epoch(30, 3, "Serving", 2_000_000), wrote(31, 3, 2_000_001),
				shoot(32, "c", "c", "Restore", "Succeeded")}),
			rto: number(21.0), evacuated: &measure.Evacuation{Shoots: 1, Seconds: 28},
		},
		// What was asked for is the way on from there. It does not undo that nobody had an answer until then.
		"nobody reaches it where it was recovered, and then a migration": {
			events: after([]at{fire, shoot(20, "b", "a", "Migrate", "Aborted"), shoot(21, "b", "b", "Restore", "Processing"),
				epoch(30, 2, "Serving", 1_000_000),
				shoot(32, "b", "b", "Restore", "Succeeded"), shoot(101, "c", "b", "Migrate", "Processing"),
				shoot(105, "c", "b", "Migrate", "Succeeded"),
				shoot(106, "c", "c", "Restore", "Processing"), epoch(110, 3, "Serving", 2_000_000), wrote(111, 3, 2_000_001),
				shoot(112, "c", "c", "Restore", "Succeeded")}),
			rto: number(101.0), evacuated: &measure.Evacuation{Shoots: 1, Seconds: 22},
		},
		// It is the owner of the fault, though nobody had written to it yet.
		"an owner that serves before the fault": {
			events: after([]at{shoot(5, "b", "a", "Migrate", "Aborted"), epoch(9, 2, "Serving", 1_000_000),
				shoot(9.6, "b", "b", "Restore", "Succeeded"), fire, wrote(11, 2, 1_000_001)}),
		},
		"a shoot that is begun anew after a migration": {
			events: after(moved, []at{fire, epoch(30, 3, "Serving", 2_000_000), wrote(31, 3, 2_000_001)}), rto: number(21.0),
		},
		// It comes back in its epoch, at a revision that shows the restore.
		"the disk of etcd breaks, and then a migration": {
			events: after([]at{{4, timeline.FaultInjected{}}, epoch(4.8, 1, "Serving", 1_000_000_100),
				wrote(4.9, 2, 1_000_000_101), migrating, left, restoring, epoch(9, 2, "Serving", 2_000_000_000),
				wrote(9.5, 3, 2_000_000_001),
				shoot(9.6, "b", "b", "Restore", "Succeeded")}),
			rto: number(0.9),
		},
		"a migration, and then the disk of etcd breaks": {
			events: after([]at{{4, timeline.FaultInjected{}}, migrating, left, restoring, epoch(9, 2, "Serving", 1_000_000_000),
				wrote(9.5, 2, 1_000_000_001),
				shoot(9.6, "b", "b", "Restore", "Succeeded"), wrote(12, 3, 2_000_000_002)}),
			rto: number(8.0),
		},
		// A fault between the two is no cause of the hand-over.
		"an operator restores it outside any seed, and hands it over": {
			events: after([]at{fire, shoot(20, "a", "outside", "Migrate", "Processing"), outside, wrote(29, 2, 1_000_001),
				{30, timeline.FaultInjected{}}}, backInside),
			rto: number(19.0),
		},
		"an operator begins anew outside any seed": {
			events: after([]at{fire, shoot(20, "a", "outside", "Migrate", "Processing"), outside, wrote(29, 2, 1_000_001),
				{30, timeline.FaultInjected{}}, outsideAnew, wrote(71, 3, 2_000_001)}),
			rto: number(41.0),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := measure.Of(history(c.events...))
			if diff := cmp.Diff(c.rto, m.RTOSeconds); diff != "" {
				t.Errorf("RTO (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.evacuated, m.Evacuation); diff != "" {
				t.Errorf("evacuation (-want +got):\n%s", diff)
			}
			if _, measured := m.Phases["recovery.firstWrite"]; measured != (c.rto != nil) {
				t.Errorf("phases %v", m.Phases)
			}
		})
	}
}

// outside and outsideAnew are epochs of a control plane outside any seed.
var (
	outside     = servesOutside(28, 2, 1_000_000)
	outsideAnew = servesOutside(70, 3, 2_000_000)
	// backInside is the hand-over of the first of them to seed a.
	backInside = []at{
		shoot(40, "a", "outside", "Migrate", "Aborted"), shoot(41, "a", "a", "Migrate", "Aborted"),
		shoot(42, "a", "a", "Restore", "Processing"), epoch(70, 3, "Serving", 2_000_000), wrote(71, 3, 2_000_001),
		shoot(75, "a", "a", "Restore", "Succeeded"),
	}
)

func servesOutside(second float64, number, revision int64) at {
	one := epoch(second, number, "Serving", revision)
	seen := one.p.(timeline.EpochSeen)
	seen.Seed = "outside"
	return at{second, seen}
}

// Neither the recovery outside any seed nor the hand-over from there is in doubt. Nobody projects what an operator
// took to the default settings.
func TestWhoWasRestoredOutsideIsNotUnrecovered(t *testing.T) {
	t.Parallel()
	events := history(slices.Concat([]at{{1, timeline.ShootReady{}}, shoot(1, "a", "a", "Create", "Succeeded"),
		epoch(2, 1, "Serving", 100), reached(3, good), reached(4, good), {4.2, timeline.FaultInjected{}},
		reached(5, bad), owner(5.5), shoot(6, "a", "outside", "Migrate", "Processing"), reached(6, bad)},
		[]at{servesOutside(7, 2, 1_000_000), reached(7, good), reached(8, good),
			shoot(8.5, "a", "outside", "Migrate", "Aborted"), reached(9, bad), shoot(9.5, "a", "a", "Migrate", "Aborted"),
			shoot(9.6, "a", "a", "Restore", "Processing"), reached(10, bad), epoch(11, 3, "Serving", 2_000_000),
			reached(11, good), shoot(11.5, "a", "a", "Restore", "Succeeded"), {12, timeline.Settling{}}, reached(13, good)})...)
	if got := measure.NotRecovered(events); len(got) > 0 {
		t.Errorf("unrecovered: %+v", got)
	}
	if diff := cmp.Diff(map[string]float64{"recovery.firstWrite": 2.9}, measure.Recovery(events),
		cmpopts.EquateApprox(0, 0.001)); diff != "" {
		t.Errorf("moments (-want +got):\n%s", diff)
	}
	if got := measure.Defaults(events, landscape.Settings{}); got != nil {
		t.Errorf("at the defaults: %+v", got)
	}
}

// Who was handed over and answers has nothing to recover from.
func TestWhoWasHandedOverIsNotUnrecovered(t *testing.T) {
	t.Parallel()
	load := at{2.5, timeline.StepStarted{Verb: "load", WritesPerSecond: 1}}
	ended := func(ends ...at) []timeline.Event {
		return history(append([]at{{1, timeline.ShootReady{}}, shoot(1, "a", "a", "Create", "Succeeded"),
			epoch(2, 1, "Serving", 100), load, wrote(3, 1, 100),
			{4, timeline.FaultInjected{}}, shoot(5, "b", "a", "Migrate", "Processing")}, ends...)...)
	}
	restored := []at{epoch(9, 2, "Serving", 1_000_000), wrote(9.5, 2, 1_000_001),
		shoot(9.6, "b", "b", "Restore", "Succeeded"), {20, timeline.Settling{}}}
	left, answer := shoot(7, "b", "a", "Migrate", "Succeeded"), wrote(22, 3, 1_000_002)
	if got := measure.NotRecovered(ended(append(append([]at{left}, restored...), answer)...)); len(got) > 0 {
		t.Errorf("handed over: %+v", got)
	}
	if got := measure.NotRecovered(ended(append(append([]at{left}, restored...), failed(22, 3))...)); len(got) != 1 {
		t.Errorf("handed over, and silent: %+v", got)
	}
}

// A hand-over does not show when the owner before it had recovered: where nobody has written before the fault, no RTO
// does.
func TestWhoWasHandedOverAfterARecoveryIsUnrecovered(t *testing.T) {
	t.Parallel()
	events := history(at{1, timeline.ShootReady{}}, shoot(1, "a", "a", "Create", "Succeeded"),
		epoch(2, 1, "Serving", 100),
		at{2.5, timeline.StepStarted{Verb: "load", WritesPerSecond: 1}}, at{4, timeline.FaultInjected{}},
		shoot(10, "b", "a", "Migrate", "Aborted"), epoch(12, 2, "Serving", 1_000_000),
		shoot(13, "b", "b", "Restore", "Succeeded"),
		shoot(14, "c", "b", "Migrate", "Succeeded"), epoch(16, 3, "Serving", 2_000_000),
		shoot(17, "c", "c", "Restore", "Succeeded"),
		at{20, timeline.Settling{}}, wrote(22, 1, 2_000_001))
	if diff := cmp.Diff([]measure.Unrecovered{{Shoot: "alpha"}}, measure.NotRecovered(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who comes when the fault has struck was not hit by it.
func TestAShootThatComesLaterHasNothingToRecoverFrom(t *testing.T) {
	t.Parallel()
	load := at{6, timeline.StepStarted{Verb: "load", WritesPerSecond: 1}}
	later := []at{{5, timeline.ShootReady{}}, shoot(5, "b", "b", "Create", "Succeeded"), epoch(5.5, 1, "Serving", 100),
		load, wrote(7, 1, 100), {20, timeline.Settling{}}, wrote(22, 2, 101)}
	if got := measure.NotRecovered(history(append([]at{{4, timeline.FaultInjected{}}}, later...)...)); len(got) > 0 {
		t.Errorf("it is said not to have recovered: %+v", got)
	}
}

func failed(second float64, number int) at {
	return at{second, timeline.Write{Number: number, Key: "w", Verb: "patch", Outcome: timeline.Failed,
		Sent: timeline.Moment(d(second - 0.1)), Answered: timeline.Moment(d(second))}}
}
