package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// TestOnAnAPIServer fills two seeds to the brim: nobody is bound beyond their capacity, the shoots that wait say why,
// and a seed that gets more room wakes the scheduler.
func TestOnAnAPIServer(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Garden()})
	g, err := client.New(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	create(t, g, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p"}}, testProfile())
	createSeed(t, g, "a", 2)
	createSeed(t, g, "b", 1)
	create(t, g, testShoot("zeta", nil)) // there before the scheduler
	run(t, config, g)
	for i := range 4 {
		create(t, g, testShoot(fmt.Sprintf("shoot-%d", i), nil))
	}

	await(t, g, "three are bound and two say why not", func(bound map[string]int, pending []string) bool {
		return bound["a"] == 2 && bound["b"] == 1 && len(pending) == 2
	})
	_, pending := count(t, g)
	for _, why := range pending {
		if want := "no seed fits: a is full: it has 2 shoots and status.allocatable.shoots is 2; b is full: it has 1 " +
			"shoots and status.allocatable.shoots is 1"; !strings.HasSuffix(why, want) {
			t.Errorf("got %q, want %q", why, want)
		}
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"allocatable":{"shoots":"5"}}}`))
	if err := g.Status().Patch(t.Context(), &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
		patch); err != nil {
		t.Fatal(err)
	}
	await(t, g, "the others are bound", func(bound map[string]int, _ []string) bool {
		return bound["a"] == 2 && bound["b"] == 3
	})
}

func create(t *testing.T, g client.Client, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := g.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func createSeed(t *testing.T, g client.Client, name string, capacity int64) {
	t.Helper()
	seed := testSeed(name, capacity)
	create(t, g, seed)
	before := seed.DeepCopy()
	now := metav1.Now()
	seed.Status.Allocatable = corev1.ResourceList{"shoots": *resource.NewQuantity(capacity, resource.DecimalSI)}
	seed.Status.Conditions = []gardencorev1beta1.Condition{{Type: "GardenletReady", Status: "True",
		LastTransitionTime: now, LastUpdateTime: now}}
	if err := g.Status().Patch(t.Context(), seed, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, config *rest.Config, g client.Client) {
	t.Helper()
	mgr, err := manager.New(config, manager.Options{
		Scheme: scheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Logger: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Reconciler{Garden: g, Clock: clock.RealClock{}, Retry: time.Hour}).AddToManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
}

// count returns how many shoots are bound to each seed, and what those without one say.
func count(t *testing.T, g client.Client) (map[string]int, []string) {
	t.Helper()
	shoots := &gardencorev1beta1.ShootList{}
	if err := g.List(t.Context(), shoots); err != nil {
		t.Fatal(err)
	}
	bound, pending := map[string]int{}, []string(nil)
	for _, shoot := range shoots.Items {
		if seed := ptr.Deref(shoot.Spec.SeedName, ""); seed != "" {
			bound[seed]++
		} else if last := shoot.Status.LastOperation; last != nil && last.State == "Pending" {
			pending = append(pending, last.Description)
		}
	}
	return bound, pending
}

func await(t *testing.T, g client.Client, what string, condition func(bound map[string]int, pending []string) bool) {
	t.Helper()
	bound, pending := map[string]int(nil), []string(nil)
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			bound, pending = count(t, g)
			return condition(bound, pending), nil
		})
	if err != nil {
		t.Fatalf("wait until %s: %v; bound %v, waiting %q", what, err, bound, pending)
	}
}
