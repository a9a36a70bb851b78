package operation

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), gardencorev1beta1.AddToScheme(scheme),
		extensionsv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func later(context.Context, *controlplane.Operation) (*run.Flow, time.Duration, error) {
	return nil, time.Minute, nil
}

// nothingIsDue has a flow for every operation, and none is due.
var nothingIsDue = Table{"Create": later, "Reconcile": later, "Delete": later, "Migrate": later, "Restore": later}

// A shoot has one Reconciler at a time. The others neither wait for it nor wake for it.
func TestReconcile_ShootOfAnother_IsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec, status, operation, ignore string
		stopped, busy                   bool
		wakes                           bool
		want                            time.Duration
	}{
		"its operation":                   {spec: "b", status: "a", operation: "Reconcile", wakes: true, want: time.Minute},
		"called off":                      {spec: "a", status: "a", operation: "Migrate", wakes: true, want: time.Minute},
		"another operation":               {spec: "a", status: "a", operation: "Reconcile"},
		"another operation has its shoot": {spec: "a", status: "a", operation: "Reconcile", busy: true, want: time.Second},
		"another seed":                    {spec: "a", status: "b", operation: "Reconcile"},
		"no seed":                         {operation: "Reconcile"},
		"ignored":                         {spec: "b", status: "a", operation: "Reconcile", ignore: "true", wakes: true},
		"a flow works on it": {spec: "b", status: "a", operation: "Migrate", busy: true, wakes: true,
			want: time.Second},
		"operations are stopped": {spec: "b", status: "a", operation: "Reconcile", stopped: true, wakes: true,
			want: 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha",
				Annotations: map[string]string{"shoot.gardener.cloud/ignore": c.ignore}}}
			if c.spec != "" {
				shoot.Spec.SeedName, shoot.Status.SeedName = &c.spec, &c.status
			}
			shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{
				Type: gardencorev1beta1.LastOperationType(c.operation), State: "Processing",
			}
			seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			if c.stopped {
				seed.Annotations = map[string]string{"shoot.gardener.cloud/emergency-stop-reconciliations": "true"}
			}
			key := client.ObjectKeyFromObject(shoot)
			r := &Reconciler{Flows: Table{"Migrate": later}, Factory: &controlplane.Factory{
				Settings: scope.Settings{SeedName: "a"}, Clock: clock.RealClock{},
				Garden: fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(shoot, seed).Build(),
			}}
			if c.busy {
				if _, free := r.Factory.TryLock(key); !free {
					t.Fatal("somebody holds the lock")
				}
			}
			if wakes := r.isResponsible(shoot); wakes != c.wakes {
				t.Errorf("its change wakes the Reconciler: %t", wakes)
			}
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			if err != nil || result.RequeueAfter != c.want {
				t.Errorf("looks again after %v, want %v; %v", result.RequeueAfter, c.want, err)
			}
		})
	}
}

// A shoot that is well changes often in what no operation goes by.
func TestIsNews(t *testing.T) {
	t.Parallel()
	condition := func(status gardencorev1beta1.ConditionStatus) func(*gardencorev1beta1.Shoot) {
		return func(s *gardencorev1beta1.Shoot) {
			s.Status.Conditions = []gardencorev1beta1.Condition{{Type: "APIServerAvailable", Status: status}}
		}
	}
	for name, c := range map[string]struct {
		change func(*gardencorev1beta1.Shoot)
		want   bool
	}{
		"nothing": {change: func(*gardencorev1beta1.Shoot) {}},
		"a label": {change: func(s *gardencorev1beta1.Shoot) {
			s.Labels = map[string]string{"status": "healthy"}
		}},
		"its API server answers":   {change: condition("True")},
		"it is being rolled out":   {change: condition("Progressing")},
		"its API server is silent": {change: condition("False"), want: true},
		"nobody can know":          {change: condition("Unknown"), want: true},
		"somebody asks for a run": {func(s *gardencorev1beta1.Shoot) {
			s.Annotations = map[string]string{"gardener.cloud/operation": "retry"}
		}, true},
		"another specification":   {func(s *gardencorev1beta1.Shoot) { s.Generation++ }, true},
		"it is bound elsewhere":   {func(s *gardencorev1beta1.Shoot) { s.Spec.SeedName = ptr.To("b") }, true},
		"its operation has ended": {func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.State = "Succeeded" }, true},
		"its destination is ready": {func(s *gardencorev1beta1.Shoot) {
			s.Status.Constraints = []gardencorev1beta1.Condition{{Type: "ReadyForMigration", Status: "True"}}
		}, true},
		"it is being deleted": {func(s *gardencorev1beta1.Shoot) { s.DeletionTimestamp = &metav1.Time{} }, true},
	} {
		before := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "alpha", ResourceVersion: "1"}}
		before.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Processing"}
		after := before.DeepCopy()
		after.ResourceVersion = "2"
		c.change(after)
		if got := isNews(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// Extensions go by the Cluster: unless it says that the shoot's operation has failed for good, they try on for ever.
func TestCluster_OperationFails_ShowsItToExtensions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation, state, request, bound string
		noCluster                        bool
		want                             string
	}{
		"a creation":               {operation: "Create", state: "Failed", bound: "a", want: "Failed"},
		"a reconciliation":         {operation: "Reconcile", state: "Failed", bound: "a", want: "Failed"},
		"a migration, half-way":    {operation: "Migrate", state: "Failed", bound: "b", want: "Failed"},
		"a restore":                {operation: "Restore", state: "Failed", bound: "a", want: "Failed"},
		"it is tried again":        {operation: "Migrate", state: "Error", bound: "b", want: "Processing"},
		"somebody wants it again":  {operation: "Migrate", state: "Failed", request: "retry", bound: "b", want: "Processing"},
		"it has failed before all": {operation: "Create", state: "Failed", bound: "a", noCluster: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := newScheme(t)
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{
				Namespace: "garden-p", Name: "alpha", UID: "u",
				Annotations: map[string]string{"gardener.cloud/operation": c.request},
			}}
			shoot.Spec.SeedName, shoot.Status.SeedName = &c.bound, ptr.To("a")
			shoot.Status.TechnicalID, shoot.Status.UID = "shoot--p--alpha", "u"
			shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{
				Type: gardencorev1beta1.LastOperationType(c.operation), State: gardencorev1beta1.LastOperationState(c.state),
			}
			cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}
			cluster.Spec.Shoot.Raw = []byte(`{"status":{"lastOperation":{"type":"` + c.operation + `","state":"Processing"}}}`)
			cluster.Spec.Seed.Raw = []byte(`{"metadata":{"name":"a"}}`)
			etcd := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shoot--p--alpha", Name: "etcd-main", Annotations: map[string]string{"transplant.dev/epoch": "4"},
			}}
			seed := fake.NewClientBuilder().WithScheme(scheme).WithObjects(etcd)
			if !c.noCluster {
				seed = seed.WithObjects(cluster)
			}
			r := &Reconciler{
				Flows: nothingIsDue,
				Factory: &controlplane.Factory{
					Settings: scope.Settings{SeedName: "a", WaitInterval: time.Hour}, Clock: clock.RealClock{},
					Bell: &scope.Bell{}, Seed: seed.Build(),
					Garden: fake.NewClientBuilder().WithScheme(scheme).WithObjects(shoot,
						&gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Build(),
				},
			}
			for range 2 {
				if _, err := r.Reconcile(t.Context(),
					reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); err != nil {
					t.Fatal(err)
				}
			}
			clusters := &extensionsv1alpha1.ClusterList{}
			if err := r.Factory.Seed.List(t.Context(), clusters); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, cluster := range clusters.Items {
				known := &gardencorev1beta1.Shoot{}
				if err := json.Unmarshal(cluster.Spec.Shoot.Raw, known); err != nil {
					t.Fatal(err)
				}
				got += string(known.Status.LastOperation.State)
				if string(cluster.Spec.Seed.Raw) != `{"metadata":{"name":"a"}}` {
					t.Errorf("the seed is %s", cluster.Spec.Seed.Raw)
				}
			}
			if got != c.want {
				t.Errorf("the Cluster says %q, want %q", got, c.want)
			}
		})
	}
}
