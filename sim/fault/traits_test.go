package fault_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/fault"
)

// Which of the examples have a trait. Every other example must not have it.
func TestTraits_OfEveryFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has  func(fault.Traits) bool
		want []string
	}{
		"momentary": {func(t fault.Traits) bool { return t.Momentary },
			[]string{"chaos", "crash", "damageBackup", "growObject", "kill", "loseCluster", "loseObject", "wipeEtcd"}},
		"reaches what is frozen": {fault.Traits.ReachesFrozen, []string{"crash", "freeze", "kill", "loseCluster"}},
		"may cost no owner": {func(t fault.Traits) bool { return !t.MayLoseOwner(ground) },
			[]string{"bandwidth", "bucketUnreachable", "cloudError", "cloudQuota", "cloudThrottle", "cloudUnreachable",
				"damageBackup", "latency", "reset", "slowBucket", "slowCloud"}},
		"needs its cluster": {func(t fault.Traits) bool { return t.Place.On(ground) != "" },
			[]string{"chaos", "freezeCluster", "growObject", "kill", "loseCluster", "loseObject"}},
		"kills what must run again": {func(t fault.Traits) bool { return t.Revives.On(ground) == "a" },
			[]string{"crash", "kill"}},
		"waits for its victim": {func(t fault.Traits) bool { return t.Awaits }, []string{"freeze", "kill"}},
		"surely harms": {func(t fault.Traits) bool { return t.Harm != fault.Harm{} },
			[]string{"freezeCluster", "loseCluster", "wipeEtcd"}},
		"hits nobody's traffic": {func(t fault.Traits) bool { return t.Actor == "" },
			[]string{"chaos", "cloudQuota", "cloudThrottle", "cloudUnreachable", "damageBackup", "freeze", "freezeCluster",
				"growObject", "kill", "loseCluster", "loseObject", "slowBucket", "slowCloud", "wipeEtcd"}},
	} {
		var got []string
		for _, kind := range slices.Sorted(maps.Keys(examples)) {
			spec := examples[kind]
			if _, f := spec.Fault(); c.has(f.Traits()) {
				got = append(got, kind)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Where only some programs are frozen nothing in their cluster answers, as when it is frozen as a whole.
func TestTraits_FreezeOfAProgram_SilencesItsCluster(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{"etcd": "a", "kube-apiserver": "a", "kube-scheduler": ""} {
		f := &fault.Freeze{Process: fault.Process{Cluster: "a", Program: program}}
		if got := f.Traits().Silences; got != want {
			t.Errorf("%s: silences %q, want %q", program, got, want)
		}
	}
}

// A crash needs the cluster of a victim that it names. Without one no request would come.
func TestTraits_CrashOfAnother_NeedsItsCluster(t *testing.T) {
	t.Parallel()
	victim := fault.Process{Cluster: "a", Program: "etcd"}
	got := (&fault.Crash{Requests: fault.Requests{Objects: shootsOf("gardenlet-a")}, Victim: &victim}).Traits().Place
	if want := (fault.Place{Field: "victim", Cluster: "a"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
