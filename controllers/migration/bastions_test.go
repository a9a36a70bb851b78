package migration

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/operation"
)

// neverEnds ends no epoch: a migrate flow stops there.
type neverEnds struct{}

var errNotEnded = errors.New("the epoch does not end")

func (neverEnds) AwaitEnd(context.Context, etcd.Guard, int64) error { return errNotEnded }

func (neverEnds) Release(context.Context, etcd.Guard, int64) error { return errNotEnded }

func inNamespace(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shoot--p--s", Name: name}
}

// etcdOf is the etcd of an epoch.
func etcdOf(epoch string) *appsv1.StatefulSet {
	etcd := &appsv1.StatefulSet{ObjectMeta: inNamespace(workload.Etcd)}
	etcd.Annotations = map[string]string{"transplant.dev/epoch": epoch}
	return etcd
}

// controlPlaneOf is what a seed has of shoot s, as far as a migration asks for it.
func controlPlaneOf() []client.Object {
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--s",
			Annotations: map[string]string{"transplant.dev/epoch": "3"}}},
		etcdOf("3"),
		&corev1.Service{
			ObjectMeta: inNamespace(workload.ServiceEtcdClient), Spec: corev1.ServiceSpec{ClusterIP: "127.220.21.2"},
		},
		etcdCA().DeepCopy(),
		&appsv1.Deployment{ObjectMeta: inNamespace(workload.KubeAPIServer)},
		&appsv1.Deployment{ObjectMeta: inNamespace(workload.MachineController)},
	}
}

// etcdCA is the Secret with the CA of the shoot's etcd.
var etcdCA = sync.OnceValue(func() *corev1.Secret {
	authority, err := pki.NewAuthority("ca-etcd", time.Now())
	if err != nil {
		panic(err) // the system has no randomness left
	}
	certificate, key, err := pki.PEM(authority.KeyPair())
	if err != nil {
		panic(err) // a key that pki has made
	}
	data := map[string][]byte{"ca.crt": certificate, "ca.key": key}
	return &corev1.Secret{ObjectMeta: inNamespace("ca-etcd"), Data: data}
})

// leaving is a shoot that moves from seed b to seed c, and the reconciler of b's gardenlet.
func leaving(t *testing.T, onSeed ...client.Object) (*gardencorev1beta1.Shoot, *operation.Reconciler) {
	t.Helper()
	shoot := withWorkers(stranded("s", "c", "b", "Reconcile", "Succeeded"))
	shoot.Status.Constraints = []gardencorev1beta1.Condition{{Type: "ReadyForMigration", Status: "True"}}
	shoot.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Name: "profile"}
	garden := newGarden(t, "True", shoot)
	if err := garden.Create(t.Context(),
		&gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "profile"}}); err != nil {
		t.Fatal(err)
	}
	entry := backupEntryOf(shoot)
	if err := garden.Get(t.Context(), client.ObjectKeyFromObject(entry), entry); err != nil {
		t.Fatal(err)
	}
	entry.Spec.SeedName = ptr.To("b")
	if err := garden.Update(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	return shoot, &operation.Reconciler{
		Factory: newFactory(t, garden, ownedBy("b", 3), shelves{}, append(controlPlaneOf(), onSeed...)...),
		Flows:   moving(neverEnds{}),
		Runner: &run.Runner{Version: "v1", Events: &eventLog{}, Periods: run.Periods{Retry: time.Hour,
			Progress: time.Millisecond}},
	}
}

// What a Bastion stands for in the cloud can be deleted only while its seed owns the shoot
// (docs/specification/migration.md#spec-2-4).
func TestAMigrationBeginsWhenTheBastionsAreGone(t *testing.T) {
	t.Parallel()
	bastion := &extensionsv1alpha1.Bastion{ObjectMeta: inNamespace("jump")}
	others := &extensionsv1alpha1.Bastion{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--other", Name: "jump"}}
	shoot, r := leaving(t, bastion, others)
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
	machines := &appsv1.Deployment{ObjectMeta: inNamespace(workload.MachineController)}

	if _, err := r.Reconcile(t.Context(), request); err == nil || !strings.Contains(err.Error(),
		"still has Bastions: jump") {
		t.Fatalf("got %v, want an error that names the Bastion", err)
	}
	if err := r.Factory.Garden.Get(t.Context(), request.NamespacedName, shoot); err != nil {
		t.Fatal(err)
	}
	if got := state(t, r.Factory.Garden)["s"]; got != "c b Migrate/Error false" {
		t.Errorf("it is %s: it must be tried again", got)
	}
	if len(shoot.Status.LastErrors) != 1 {
		t.Fatalf("last errors %+v", shoot.Status.LastErrors)
	}
	if diff := cmp.Diff([]gardencorev1beta1.ErrorCode{"ERR_RETRYABLE_CONFIGURATION_PROBLEM"},
		shoot.Status.LastErrors[0].Codes); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	if err := r.Factory.Seed.Get(t.Context(), client.ObjectKeyFromObject(machines), machines); err != nil {
		t.Errorf("the migration has begun: %v", err)
	}

	remove(t, r.Factory.Seed, bastion)
	// Who asks is not put off.
	if err := r.Factory.Garden.Patch(t.Context(), shoot,
		client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"gardener.cloud/operation":"retry"}}}`))); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, errNotEnded) {
		t.Errorf("without Bastions: %v, want to hear of the end of the epoch", err)
	}
	if err := r.Factory.Seed.Get(t.Context(), client.ObjectKeyFromObject(machines), machines); !apierrors.IsNotFound(err) {
		t.Errorf("the migration has not begun: %v", err)
	}
}

// Once the API server is gone the epoch may have ended, and with it the right to delete a Bastion: to wait for that
// would be to wait for ever.
func TestALateBastionHoldsNoMigrationUp(t *testing.T) {
	t.Parallel()
	shoot, r := leaving(t, &extensionsv1alpha1.Bastion{ObjectMeta: inNamespace("jump")})
	remove(t, r.Factory.Seed, &appsv1.Deployment{ObjectMeta: inNamespace(workload.KubeAPIServer)})
	m := &migrate{Operation: controlplane.New(&scope.Scope{Settings: r.Factory.Settings, Garden: r.Factory.Garden,
		Seed: r.Factory.Seed, Shoot: shoot})}
	if err := m.survey(t.Context()); err != nil {
		t.Error(err)
	}
}
