package probe_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func TestTheSeedsAreFollowed(t *testing.T) {
	t.Parallel()
	_, clients, _ := worldtest.Ready(t, 0)
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		t.Fatal(err)
	}
	j := journal()
	follower := &probe.Seeds{Garden: garden}
	seen := func() []string {
		var all []string
		for e, s := range timeline.Of[timeline.SeedSeen](j.Events()) {
			all = append(all, fmt.Sprintf("%s silent %t absent %t", e.Subject, s.Gardenlet("Unknown"), s.Absent))
		}
		return all
	}
	follow := func() (end func()) {
		ctx, done := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- follower.Follow(ctx, j) }()
		return func() {
			done()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	say := func(seed, status string) {
		t.Helper()
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"GardenletReady","status":%q}]}}`, status)
		if err := garden.Patch(t.Context(), named(seed), client.RawPatch("application/merge-patch+json",
			[]byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	end := follow()
	worldtest.Until(t, func() bool { return len(seen()) == 2 })
	say("b", "Unknown")
	worldtest.Until(t, func() bool { return slices.Contains(seen(), "b silent true absent false") })
	end()
	// What did not change meanwhile is not recorded again, and what has gone is.
	if err := garden.Delete(t.Context(), named("a")); err != nil {
		t.Fatal(err)
	}
	end = follow()
	worldtest.Until(t, func() bool { return slices.Contains(seen(), "a silent false absent true") })
	say("b", "True")
	worldtest.Until(t, func() bool { return len(seen()) == 5 })
	end()
	// The last look records what has changed since, and only that.
	say("b", "Unknown")
	for range 2 {
		if err := follower.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"a silent false absent false", "b silent false absent false", "b silent true absent false",
		"a silent false absent true",
		"b silent false absent false", "b silent true absent false",
	}
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("seen are %v, want %v", got, want)
	}
}

func named(seed string) client.Object {
	return &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: seed}}
}
