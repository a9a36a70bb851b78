package metrics_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// phases are the sums of a histogram, by phase.
func phases(t *testing.T, meter *metrics.Meter, histogram string) map[string]float64 {
	t.Helper()
	gathered, err := meter.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, family := range gathered {
		if family.GetName() != histogram {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if m.GetHistogram().GetSampleCount() != 1 {
				t.Errorf("%v was observed %d times", labels, m.GetHistogram().GetSampleCount())
			}
			sums[strings.Join([]string{labels["phase"], labels["mode"], labels["source"], labels["destination"],
				labels["workerless"], labels["hibernated"]}, " ")] = m.GetHistogram().GetSampleSum()
		}
	}
	return sums
}

func TestPhasesOfMigrations(t *testing.T) {
	t.Parallel()
	events := record(t).Events
	meter, err := metrics.NewMeter("run-1", events[0].Payload.(timeline.RunStarted))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		meter.Take(e)
		// what is not about the shoot changes nothing
		meter.Take(timeline.Event{Seq: e.Seq, At: e.At, Subject: "other", Payload: timeline.Note{}})
	}
	want := map[string]float64{"asked": 0.5, "migrate": 3.5, "handOver": 0.2, "restore": 9.8, "total": 14}
	got := phases(t, meter, "transplant_migration_phase_duration_seconds")
	for phase, seconds := range want {
		key := phase + " planned a b false false"
		if diff := got[key] - seconds; diff < -1e-6 || diff > 1e-6 {
			t.Errorf("%s took %v, want %v; all: %v", phase, got[key], seconds, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("phases %v", got)
	}
}

// asleep are the same moments with a shoot that sleeps all the time.
func asleep(moments []moment) []moment {
	var all []moment
	for _, m := range moments {
		if p, is := m.payload.(timeline.ShootSeen); is {
			p.Hibernated = true
			m.payload = p
		}
		all = append(all, m)
	}
	return all
}

// metered is a meter that has counted these moments.
func metered(t *testing.T, moments []moment) *metrics.Meter {
	t.Helper()
	meter, err := metrics.NewMeter("run-1", timeline.RunStarted{Scenario: "tale", Definition: json.RawMessage(definition)})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moments {
		meter.Take(timeline.Event{At: time.Duration(m.at * float64(time.Second)), Actor: m.actor, Subject: m.subject,
			Payload: m.payload})
	}
	return meter
}

// The labels of a migration say how the shoot was when it was asked for, and whether Migrate was given up in it.
func TestPhases_Migrations_AreLabelledByKind(t *testing.T) {
	t.Parallel()
	steady := func(nodes int) moment { return moment{1, "operator", "alpha", timeline.ShootReady{Nodes: nodes}} }
	at := func(seconds float64, asleep bool, p timeline.ShootSeen) moment {
		p.Hibernated = asleep
		return moment{seconds, "observer", "alpha", p}
	}
	planned := func(asked, later bool) []moment {
		return []moment{
			at(10, asked, seen("b", "a", "Create", "Succeeded", 100)), at(12, later, seen("b", "a", "Migrate", "Processing", 0)),
			at(15, later, seen("b", "b", "Migrate", "Succeeded", 100)),
			at(16, later, seen("b", "b", "Restore", "Processing", 0)),
			at(20, later, seen("b", "b", "Restore", "Succeeded", 100)),
		}
	}
	forced := func(asleep bool) []moment {
		return []moment{
			at(10, asleep, seen("b", "a", "Create", "Succeeded", 100)),
			at(12, asleep, seen("b", "a", "Migrate", "Processing", 0)), at(15, asleep, seen("b", "b", "Migrate", "Aborted", 0)),
			at(16, asleep, seen("b", "b", "Restore", "Processing", 0)),
			at(20, asleep, seen("b", "b", "Restore", "Succeeded", 100)),
		}
	}
	back := []moment{
		at(30, false, seen("a", "b", "Restore", "Succeeded", 100)), at(31, false, seen("a", "b", "Migrate", "Processing", 0)),
		at(33, false, seen("a", "a", "Migrate", "Succeeded", 100)),
		at(36, false, seen("a", "a", "Restore", "Processing", 0)), at(43, false, seen("a", "a", "Restore", "Succeeded", 100)),
	}
	wholePlanned := map[string]float64{"asked": 2, "migrate": 3, "handOver": 1, "restore": 4, "total": 10}
	wholeForced := map[string]float64{"asked": 2, "restore": 4, "total": 10} // a Migrate that was given up has no end
	wholeBack := map[string]float64{"asked": 1, "migrate": 2, "handOver": 3, "restore": 7, "total": 13}
	for name, c := range map[string]struct {
		moments []moment
		want    map[string]map[string]float64 // by mode, source, destination, workerless, hibernated
	}{
		"with workers": {slices.Concat([]moment{steady(2)}, planned(false, false)),
			map[string]map[string]float64{"planned a b false false": wholePlanned}},
		"workerless": {slices.Concat([]moment{steady(0)}, planned(false, false)),
			map[string]map[string]float64{"planned a b true false": wholePlanned}},
		// Not known is not none.
		"never seen steady": {planned(false, false),
			map[string]map[string]float64{"planned a b false false": wholePlanned}},
		"asleep": {slices.Concat([]moment{steady(2)}, planned(true, true)),
			map[string]map[string]float64{"planned a b false true": wholePlanned}},
		"woken on the way": {slices.Concat([]moment{steady(2)}, planned(true, false)),
			map[string]map[string]float64{"planned a b false true": wholePlanned}},
		"sent to sleep on it": {slices.Concat([]moment{steady(2)}, planned(false, true)),
			map[string]map[string]float64{"planned a b false false": wholePlanned}},
		"given up": {slices.Concat([]moment{steady(2)}, forced(false)),
			map[string]map[string]float64{"forced a b false false": wholeForced}},
		"all at once": {slices.Concat([]moment{steady(0)}, forced(true)),
			map[string]map[string]float64{"forced a b true true": wholeForced}},
		"given up, then a move": {slices.Concat([]moment{steady(2)}, forced(true), back),
			map[string]map[string]float64{"forced a b false true": wholeForced, "planned b a false false": wholeBack}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := phases(t, metered(t, c.moments), "transplant_migration_phase_duration_seconds")
			want := map[string]float64{}
			for labels, parts := range c.want {
				for phase, seconds := range parts {
					want[phase+" "+labels] = seconds
				}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func later(by float64, moments []moment) (all []moment) {
	for _, m := range moments {
		m.at += by
		all = append(all, m)
	}
	return all
}

// Each part of a recovery is counted from the moment before it, whatever the order is in which they came, with the
// labels of the migration in which Migrate was given up, not of one that was handed over.
func TestPhasesOfRecoveries(t *testing.T) {
	t.Parallel()
	steady := func(shoot string, nodes int) moment {
		return moment{1, "operator", shoot, timeline.ShootReady{Nodes: nodes}}
	}
	fault := moment{5, "operator", "fire", timeline.FaultInjected{Fault: "loseCluster(a)"}}
	lost := []moment{
		{2, "observer", "alpha", seen("a", "a", "Create", "Succeeded", 100)}, fault,
		{10, "observer", "alpha", seen("b", "a", "Create", "Succeeded", 100)},
		{11, "observer", "alpha", seen("b", "b", "Migrate", "Aborted", 0)},
		{12, "observer", "alpha", seen("b", "b", "Restore", "Processing", 0)},
		{20, "observer", "alpha", seen("b", "b", "Restore", "Succeeded", 100)},
	}
	back := []moment{
		{30, "observer", "alpha", seen("a", "b", "Restore", "Succeeded", 100)},
		{31, "observer", "alpha", seen("a", "b", "Migrate", "Succeeded", 100)},
		{32, "observer", "alpha", seen("a", "a", "Restore", "Processing", 0)},
		{33, "observer", "alpha", seen("a", "a", "Restore", "Succeeded", 100)},
	}
	for name, c := range map[string]struct {
		moments []moment
		judged  map[string]float64
		want    map[string]float64
	}{
		"lost, and moved back": {
			append(append([]moment{steady("alpha", 2)}, lost...), back...),
			map[string]float64{"total": 9, "recovery.detected": 5, "recovery.ownerMoved": 6, "recovery.firstWrite": 11,
				"recovery.etcdRestored": 9.5, "recovery.steady": 20},
			map[string]float64{
				"detected forced a b false false": 5, "ownerMoved forced a b false false": 1,
				"etcdRestored forced a b false false": 3.5,
				"firstWrite forced a b false false":   1.5, "steady forced a b false false": 9, "total forced a b false false": 20,
			},
		},
		"one of two": {
			append([]moment{steady("alpha", 0), steady("beta", 0)}, lost...),
			map[string]float64{"alpha.recovery.detected": 5, "alpha.total": 9, "beta.total": 3},
			map[string]float64{"detected forced a b true false": 5, "total forced a b true false": 5},
		},
		"moved before": {
			append(append([]moment{steady("alpha", 1), {2, "observer", "alpha", seen("a", "a", "Create", "Succeeded", 100)}},
				back...), moment{40, "operator", "fire", timeline.FaultInjected{}}),
			map[string]float64{"recovery.firstWrite": 2},
			map[string]float64{"firstWrite stayed a a false false": 2, "total stayed a a false false": 2},
		},
		"back where it was, and moved later": {
			append([]moment{steady("alpha", 1), {2, "observer", "alpha", seen("b", "b", "Create", "Succeeded", 100)}, fault},
				back...),
			map[string]float64{"recovery.firstWrite": 2},
			map[string]float64{"firstWrite stayed b b false false": 2, "total stayed b b false false": 2},
		},
		"moved, and lost later": {
			append(append([]moment{steady("alpha", 1), {1, "operator", "line", timeline.FaultInjected{}}}, back...),
				later(40, lost)...),
			map[string]float64{"recovery.firstWrite": 50},
			map[string]float64{"firstWrite forced a b false false": 50, "total forced a b false false": 50},
		},
		"asleep": {
			append([]moment{steady("alpha", 2)}, asleep(lost)...),
			map[string]float64{"recovery.detected": 5, "recovery.steady": 15},
			map[string]float64{"detected forced a b false true": 5, "steady forced a b false true": 10,
				"total forced a b false true": 15},
		},
		"no recovery": {append([]moment{steady("alpha", 2)}, lost...), map[string]float64{"total": 9}, map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			meter := metered(t, c.moments)
			meter.Judged(&verdict.Report{Measures: measure.Measures{Phases: c.judged}})
			got := phases(t, meter, "transplant_recovery_phase_duration_seconds")
			if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
