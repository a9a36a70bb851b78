package landscape_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/sim/landscape"
)

func TestDefaultsAreThoseForScenarios(t *testing.T) {
	t.Parallel()
	settings := landscape.Settings{OwnerCheckTimeout: metav1.Duration{Duration: 9 * time.Second}}
	settings.Default()
	d := func(seconds int) metav1.Duration {
		return metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	}
	want := landscape.Settings{
		OwnerCheckInterval: d(1), OwnerCheckTimeout: d(9), DeltaInterval: d(1), FullSnapshotInterval: d(300), DNSTTL: d(1),
		SeedLeaseRenew: d(1), SeedLossGracePeriod: d(10), WaitInterval: d(1), SyncPeriod: d(3600), CareSyncPeriod: d(5),
		CareThreshold: d(60), CleanupTimeout: d(600), RestoresAtOnce: 20,
		RetryDuration: d(43200), ThrottledRetryPeriod: d(600),
	}
	if diff := cmp.Diff(want, settings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	l := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}}, Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}}}
	for name, c := range map[string]struct{ got, want []string }{
		"actors": {l.Actors(), []string{"control-planes-a", "extensions-a", "garden-controller-manager", "gardenlet-a",
			"gateway-a", "nodes", "user"}},
		"processes": {l.ProcessActors(), []string{"extensions-a", "garden-controller-manager", "gardenlet-a", "gateway-a"}},
		"targets":   {l.Targets(), []string{"a", "cloud", "garden", "shoot/alpha", "shoots"}},
		"clusters":  {l.Clusters(), []string{"garden", "a"}},
		"shoots":    {l.ShootNames(), []string{"alpha"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	l.Seeds = append(l.Seeds, landscape.Seed{Name: "b"})
	for actor, want := range map[string][]string{
		"garden-controller-manager": {"cloud", "garden"}, "nodes": {"cloud", "shoot/alpha", "shoots"},
		"user":        {"shoot/alpha", "shoots"},
		"gardenlet-b": {"b", "cloud", "garden", "shoot/alpha", "shoots"}, "extensions-b": {"b", "cloud"}, "gateway-b": {"b"},
		"control-planes-a": {"cloud", "garden"},
		"nobody":           l.Targets(),
	} {
		if diff := cmp.Diff(want, l.TargetsOf(actor)); diff != "" {
			t.Errorf("targets of %s (-want +got):\n%s", actor, diff)
		}
	}
	l.Settings.SecondSign = true
	if diff := cmp.Diff([]string{"cloud", "garden", "shoot/alpha", "shoots"},
		l.TargetsOf("garden-controller-manager")); diff != "" {
		t.Errorf("targets of who asks silent shoots (-want +got):\n%s", diff)
	}
	if _, found := l.Shoot("beta"); found {
		t.Error("a shoot that is not there is found")
	}
}

func TestSeedsThatAreTheSame(t *testing.T) {
	t.Parallel()
	seed := landscape.Seed{Name: "a", Region: "here", Taints: []landscape.Taint{{Key: "k", Value: "v"}}}
	for name, c := range map[string]struct {
		other landscape.Seed
		want  bool
	}{
		"the same": {landscape.Seed{Name: "a", Region: "here", Taints: []landscape.Taint{{Key: "k", Value: "v"}}},
			true},
		"another name":   {landscape.Seed{Name: "b", Region: "here", Taints: seed.Taints}, false},
		"another region": {landscape.Seed{Name: "a", Taints: seed.Taints}, false},
		"another taint":  {landscape.Seed{Name: "a", Region: "here", Taints: []landscape.Taint{{Key: "k"}}}, false},
		"no taint":       {landscape.Seed{Name: "a", Region: "here"}, false},
	} {
		if got := seed.Equal(c.other); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
