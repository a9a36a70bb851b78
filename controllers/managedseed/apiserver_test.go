package managedseed

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// TestOnAnAPIServer is the life of a managed seed: the shoot gets ready, the Seed follows its configuration, others
// write what is theirs, and the Seed goes with the ManagedSeed.
func TestOnAnAPIServer(t *testing.T) {
	t.Parallel()
	rest := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Garden()})
	scheme := testScheme(t)
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mgr, err := manager.New(rest, manager.Options{Scheme: scheme, Logger: logr.Discard(),
		Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Garden: mgr.GetClient(), Clock: clock.RealClock{}, Retry: 100 * time.Millisecond}
	if err := r.AddToManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	c, err := client.New(rest, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	g := &garden{Client: c}
	g.live(t)
}

type garden struct{ client.Client }

func (g *garden) live(t *testing.T) {
	s := shoot("", "")
	s.Spec.Kubernetes.Version = "1.36.3"
	managed := managedSeed(config("here"))
	managed.Finalizers, managed.Generation = nil, 0
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p"}}, s, managed,
	} {
		if err := g.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	g.await(t, "False ShootNotReady")
	before := s.DeepCopy()
	s.Status = shoot("Create", "Succeeded").Status
	if err := g.Status().Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	g.await(t, "True SeedRegistered")
	wire := &unstructured.Unstructured{}
	wire.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Seed"))
	if err := g.Get(t.Context(), client.ObjectKey{Name: "m"}, wire); err != nil {
		t.Fatal(err)
	}
	if future, _, _ := unstructured.NestedBool(wire.Object, "spec", "fieldOfTheFuture", "on"); !future ||
		wire.GetLabels()["site"] != "x" {
		t.Errorf("the Seed lacks something of its configuration: %v", wire.Object)
	}

	// Fields of others survive a change of the configuration.
	others := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	g.merge(t, others, `{"metadata":{"labels":{"mine":"too"}},"spec":{"taints":[{"key":"t"}]}}`)
	g.configure(t, "there")
	g.awaitSeed(t, func(s *gardencorev1beta1.Seed) bool { return s.Spec.Provider.Region == "there" })
	if err := g.Get(t.Context(), client.ObjectKey{Name: "m"}, others); err != nil || others.Labels["mine"] != "too" ||
		len(others.Spec.Taints) != 1 {
		t.Errorf("what others wrote is gone: %+v %+v (%v)", others.Labels, others.Spec.Taints, err)
	}
	// A field of the configuration that another has changed is not fought for.
	g.merge(t, others, `{"spec":{"provider":{"region":"elsewhere"}}}`)
	g.await(t, "False SeedRefused")
	g.configure(t, "elsewhere")
	g.await(t, "True SeedRegistered")

	guest := shoot("", "")
	guest.Name, guest.Spec.Kubernetes.Version = "guest", "1.36.3"
	name := "m"
	guest.Spec.SeedName = &name
	if err := g.Create(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	if err := g.Delete(t.Context(), managed); err != nil {
		t.Fatal(err)
	}
	g.await(t, "False SeedInUse")
	if err := g.Delete(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	g.poll(t, "the ManagedSeed is gone", func(ctx context.Context) (bool, error) {
		err := g.Get(ctx, client.ObjectKeyFromObject(managed), managed)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err := g.Get(t.Context(), client.ObjectKey{Name: "m"}, others); !apierrors.IsNotFound(err) {
		t.Errorf("the Seed outlives its ManagedSeed: %v", err)
	}
}

func (g *garden) merge(t *testing.T, object client.Object, patch string) {
	t.Helper()
	if err := g.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// configure another region of the Seed.
func (g *garden) configure(t *testing.T, region string) {
	t.Helper()
	managed := &seedmanagementv1alpha1.ManagedSeed{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "m"}}
	g.merge(t, managed, `{"spec":{"gardenlet":{"config":{"seedConfig":{"spec":{"provider":{"region":"`+region+
		`"}}}}}}}`)
}

func (g *garden) poll(t *testing.T, what string, condition wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, condition); err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
}

// await a status and a reason of the condition.
func (g *garden) await(t *testing.T, want string) {
	t.Helper()
	g.poll(t, "the condition is "+want, func(ctx context.Context) (bool, error) {
		managed := &seedmanagementv1alpha1.ManagedSeed{}
		err := g.Get(ctx, client.ObjectKey{Namespace: "garden-p", Name: "m"}, managed)
		if err != nil || len(managed.Status.Conditions) == 0 {
			return false, err
		}
		condition := managed.Status.Conditions[0]
		return managed.Status.ObservedGeneration == managed.Generation &&
			strings.Join([]string{string(condition.Status), condition.Reason}, " ") == want, nil
	})
}

func (g *garden) awaitSeed(t *testing.T, is func(*gardencorev1beta1.Seed) bool) {
	t.Helper()
	g.poll(t, "the Seed is as configured", func(ctx context.Context) (bool, error) {
		seed := &gardencorev1beta1.Seed{}
		err := g.Get(ctx, client.ObjectKey{Name: "m"}, seed)
		return err == nil && is(seed), client.IgnoreNotFound(err)
	})
}
