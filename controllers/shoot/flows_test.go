package shoot

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/flow"
	"github.com/transplant-sim/transplant/controllers/operation"
)

// reasons remembers the reasons of events, in order.
type reasons []string

func (r *reasons) Event(_ *gardencorev1beta1.Shoot, _, reason, _ string) { *r = append(*r, reason) }

type noCleanup struct{}

func (noCleanup) Tasks(*controlplane.Operation) []flow.Task { return nil }

// staying are the flows of the product, without a clean-up of the shoot.
func staying() operation.Table {
	flows := &Flows{Cadence: Cadence{Sync: time.Hour}, Cleanup: noCleanup{}}
	return operation.Table{"Create": flows.Reconcile, "Reconcile": flows.Reconcile, "Delete": flows.Delete}
}

// A deletion that no retry helps waits for its owner; what failed before the deletion does not hold it up.
func TestADeletionThatHasFailedForGoodIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last    *gardencorev1beta1.LastOperation
		request string
		runs    bool
	}{
		"failed": {&gardencorev1beta1.LastOperation{Type: "Delete", State: "Failed"}, "", false},
		"failed, and others' wish": {&gardencorev1beta1.LastOperation{Type: "Delete", State: "Failed"}, "rotate-ssh-keypair",
			false},
		"failed, and asked again":   {&gardencorev1beta1.LastOperation{Type: "Delete", State: "Failed"}, "x;retry", true},
		"failed when it was healed": {&gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Failed"}, "", true},
		"still tried":               {&gardencorev1beta1.LastOperation{Type: "Delete", State: "Error"}, "", true},
		"nothing was done ever":     {nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := testScheme(t)
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{
				Namespace: "garden-p", Name: "alpha", UID: "u", Finalizers: []string{"gardener"},
				DeletionTimestamp: ptr.To(metav1.Now()),
				Annotations:       map[string]string{"gardener.cloud/operation": c.request},
			}}
			shoot.Spec.SeedName = ptr.To("a")
			shoot.Status.TechnicalID, shoot.Status.UID, shoot.Status.LastOperation = "shoot--p--alpha", "u", c.last
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}
			seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			garden := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(shoot).WithObjects(shoot, seed).Build()
			happened := &reasons{}
			r := &operation.Reconciler{
				Factory: &controlplane.Factory{
					Settings: scope.Settings{SeedName: "a", WaitInterval: time.Millisecond}, Clock: clock.RealClock{},
					Garden: garden, Seed: fake.NewClientBuilder().WithScheme(scheme).WithObjects(namespace).Build(),
					Bell: &scope.Bell{},
				},
				Runner: &run.Runner{Version: "v1", Events: happened, Periods: run.Periods{Retry: time.Hour}},
				Flows:  staying(),
			}
			// The flow itself finds no cloud profile, and ends with an error.
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
			if ran := slices.Contains(*happened, "Deleting"); ran != c.runs || (err != nil) != c.runs {
				t.Errorf("events %v, %v", *happened, err)
			}
		})
	}
}

// While the operators of a seed have stopped the operations on its shoots, none begins, whatever it is for and whoever
// asks.
func TestNothingBeginsInAnEmergency(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop    string
		deleted *metav1.Time
		runs    bool
	}{
		"a reconciliation in an emergency": {stop: "true"},
		"a deletion in an emergency":       {stop: "true", deleted: ptr.To(metav1.Now())},
		"a reconciliation":                 {runs: true},
		"a deletion":                       {deleted: ptr.To(metav1.Now()), runs: true},
		"the stop is over":                 {stop: "false", runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := testScheme(t)
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{
				Namespace: "garden-p", Name: "alpha", UID: "u", Finalizers: []string{"gardener"}, DeletionTimestamp: c.deleted,
				Annotations: map[string]string{"gardener.cloud/operation": "reconcile"},
			}}
			shoot.Spec.SeedName = ptr.To("a")
			shoot.Status.TechnicalID, shoot.Status.UID = "shoot--p--alpha", "u"
			seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{
				Name: "a", Annotations: map[string]string{"shoot.gardener.cloud/emergency-stop-reconciliations": c.stop},
			}}
			happened := &reasons{}
			r := &operation.Reconciler{
				Factory: &controlplane.Factory{
					Settings: scope.Settings{SeedName: "a", WaitInterval: time.Millisecond}, Clock: clock.RealClock{},
					Garden: fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(shoot).WithObjects(shoot, seed).Build(),
					Seed:   fake.NewClientBuilder().WithScheme(scheme).Build(), Bell: &scope.Bell{},
				},
				Runner: &run.Runner{Version: "v1", Events: happened, Periods: run.Periods{Retry: time.Hour}},
				Flows:  staying(),
			}
			// The flow itself finds no cloud profile, and ends with an error.
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
			if ran := len(*happened) > 0; ran != c.runs || (err != nil) != c.runs || (result.RequeueAfter > 0) == c.runs {
				t.Errorf("events %v, %+v, %v", *happened, result, err)
			}
		})
	}
}

// What somebody asked for stays on the shoot until its run has begun, and what others are to do stays after it.
func TestARequestIsTakenOffByTheRunItAsksFor(t *testing.T) {
	t.Parallel()
	errCrash := errors.New("the gardenlet ends")
	for name, c := range map[string]struct {
		request, left string
		crash         bool
	}{
		"it is carried out":            {request: "reconcile"},
		"beside others' operations":    {request: "x;reconcile", left: "x"},
		"beside a wish for later":      {request: "force-in-place-update;retry", left: "force-in-place-update"},
		"lost before anything began":   {request: "reconcile", left: "reconcile", crash: true},
		"nobody asks, but it has time": {request: "x", left: "x"},
		"credentials are rotated":      {request: "rotate-ssh-keypair"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := testScheme(t)
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{
				Namespace: "garden-p", Name: "alpha", UID: "u", Generation: 1,
				Annotations: map[string]string{"gardener.cloud/operation": c.request},
			}}
			shoot.Spec.SeedName = ptr.To("a")
			shoot.Status = gardencorev1beta1.ShootStatus{
				TechnicalID: "shoot--p--alpha", UID: "u", ObservedGeneration: 1, SeedName: ptr.To("a"),
				LastOperation: &gardencorev1beta1.LastOperation{Type: "Create", State: "Error"},
			}
			garden := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(shoot).WithObjects(shoot,
				&gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).
				WithInterceptorFuncs(interceptor.Funcs{
					SubResourcePatch: func(ctx context.Context, inner client.Client, sub string, o client.Object, p client.Patch,
						opts ...client.SubResourcePatchOption) error {
						if c.crash {
							return errCrash
						}
						return inner.SubResource(sub).Patch(ctx, o, p, opts...)
					},
				}).Build()
			r := &operation.Reconciler{
				Factory: &controlplane.Factory{
					Settings: scope.Settings{SeedName: "a", WaitInterval: time.Millisecond}, Clock: clock.RealClock{},
					Garden: garden, Seed: fake.NewClientBuilder().WithScheme(scheme).Build(), Bell: &scope.Bell{},
				},
				Runner: &run.Runner{Version: "v1", Events: &reasons{}, Periods: run.Periods{Retry: time.Hour}},
				Flows:  staying(),
			}
			// The flow itself finds no cloud profile, and ends with an error.
			if _, err := r.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); err == nil ||
				errors.Is(err, errCrash) != c.crash {
				t.Errorf("it ends with %v", err)
			}
			after := &gardencorev1beta1.Shoot{}
			if err := garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), after); err != nil {
				t.Fatal(err)
			}
			if left := after.Annotations["gardener.cloud/operation"]; left != c.left || !slices.Contains(after.Finalizers,
				"gardener") {
				t.Errorf("left is %q, want %q; finalizers %v", left, c.left, after.Finalizers)
			}
		})
	}
}
