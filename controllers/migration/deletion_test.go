package migration

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/operation"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

// dying is a shoot in deletion.
func dying(shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
	shoot.DeletionTimestamp, shoot.Finalizers = &metav1.Time{Time: time.Unix(999, 0)}, []string{"gardener"}
	return shoot
}

// forget removes what the garden keeps for a restore, as the end of a deletion does: it notes in the ShootState that it
// is used up, the BackupEntry is gone or, with waits, waits for its seed, and the ShootState goes after it.
func forget(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot, waits, state bool) {
	t.Helper()
	store := &shootstate.Store{Garden: garden, Clock: clock.RealClock{}}
	if err := store.Spend(t.Context(), client.ObjectKeyFromObject(shoot), 99, func(context.Context) error {
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	entry := backupEntryOf(shoot)
	if waits {
		if err := garden.Get(t.Context(), client.ObjectKeyFromObject(entry), entry); err != nil {
			t.Fatal(err)
		}
		entry.Finalizers, entry.Annotations = []string{"gardener"},
			map[string]string{"confirmation.gardener.cloud/deletion": "true"}
		if err := garden.Update(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
	}
	remove(t, garden, entry)
	if !state {
		remove(t, garden, &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Name: shoot.Name,
			Namespace: shoot.Namespace}})
	}
}

func TestAShootWhoseDeletionHasComeFarIsDeletedElsewhere(t *testing.T) {
	t.Parallel()
	late := func(waits, state bool) func(*testing.T, client.Client, *gardencorev1beta1.Shoot) {
		return func(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot) {
			forget(t, garden, shoot, waits, state)
		}
	}
	cascade := func(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot) {
		entry := backupEntryOf(shoot)
		if err := garden.Patch(t.Context(), entry,
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["gardener"]}}`))); err != nil {
			t.Fatal(err)
		}
		remove(t, garden, entry)
	}
	noState := incomplete["no ShootState"].spoil
	damaged := func(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot) {
		incomplete["a chunk is missing"].spoil(t, garden, shoot)
		remove(t, garden, backupEntryOf(shoot))
	}
	for name, c := range map[string]struct {
		shoot *gardencorev1beta1.Shoot
		spoil func(*testing.T, client.Client, *gardencorev1beta1.Shoot)
		want  string
	}{
		"early, all is there": {dying(stranded("s", "a", "a", "Delete", "Processing")), nil,
			"b a Delete/Processing true"},
		"backup entry being deleted": {dying(stranded("s", "a", "a", "Delete", "Processing")), late(true, true),
			"b a Delete/Processing true"},
		"backup entry deleted by others": {dying(stranded("s", "a", "a", "Delete", "Processing")), cascade,
			"a a Delete/Processing false"},
		"the same, the shoot stays": {stranded("s", "a", "a", "Reconcile", "Succeeded"), cascade,
			"a a Reconcile/Succeeded false"},
		"backup entry gone": {dying(stranded("s", "a", "a", "Delete", "Error")), late(false, true),
			"b a Delete/Error true"},
		"backup entry removed by others": {dying(stranded("s", "a", "a", "Delete", "Error")),
			incomplete["no backup entry"].spoil, "a a Delete/Error false"},
		"the same, state damaged": {dying(stranded("s", "a", "a", "Delete", "Error")), damaged,
			"a a Delete/Error false"},
		"all gone": {dying(stranded("s", "a", "a", "Delete", "Processing")), late(false, false),
			"b a Delete/Processing true"},
		"state lost, machines may be left": {dying(stranded("s", "a", "a", "Delete", "Processing")), noState,
			"a a Delete/Processing false"},
		"not in deletion": {stranded("s", "a", "a", "Reconcile", "Succeeded"), late(false, false),
			"a a Reconcile/Succeeded false"},
		"unborn": {dying(stranded("s", "a", "", "Create", "Error")), late(false, false),
			"b a Migrate/Aborted true"},
		"unborn, machines may be left": {dying(stranded("s", "a", "", "Create", "Error")), noState,
			"a - Create/Error false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			garden := newGarden(t, "Unknown", c.shoot)
			if c.spoil != nil {
				c.spoil(t, garden, c.shoot)
			}
			e, clock := newEvacuation(garden, &eventLog{})
			lookFor(t, e, clock, 9)
			got := state(t, garden)["s"]
			if got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
			if got[0] == 'a' {
				return
			}
			if _, err := newForcedRestore(garden).Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c.shoot)}); err != nil {
				t.Fatal(err)
			}
			if got := state(t, garden)["s"]; got != "b b Migrate/Aborted true" {
				t.Errorf("given away it is %s", got)
			}
		})
	}
}

// records are the authorities of one shoot.
type records struct{ claim, decision *ownershiptest.Authority }

func (r records) Claim(string, string) ownership.Authority { return r.claim }
func (r records) Decision(string) ownership.Authority      { return r.decision }

func ownedBy(seed string, epoch int64) records {
	r := records{&ownershiptest.Authority{}, &ownershiptest.Authority{}}
	for _, a := range []*ownershiptest.Authority{r.claim, r.decision} {
		a.Set(ownership.Record{Owner: "uid-" + seed, Epoch: epoch, Seed: seed})
	}
	return r
}

// newFactory is that of seed b's gardenlet. Its extensions take up whatever they are asked to restore, and get no
// further.
func newFactory(t *testing.T, garden client.Client, owners records, buckets shelves,
	onSeed ...client.Object) *controlplane.Factory {
	t.Helper()
	boottime, err := ownership.NewBootClock()
	if err != nil {
		t.Fatal(err)
	}
	gateway := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-ingress", Name: "gateway"}}
	gateway.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.0.0.1"}}
	onSeed = append(onSeed, gateway)
	for _, name := range []string{"control-plane-kubeconfig-garden", "control-plane-kubeconfig-cloud"} {
		onSeed = append(onSeed, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: name}})
	}
	seed := fake.NewClientBuilder().WithScheme(gardenScheme(t)).WithObjects(onSeed...).
		WithStatusSubresource(&extensionsv1alpha1.Infrastructure{}, &extensionsv1alpha1.DNSRecord{}).Build()
	takenUp := func(ctx context.Context, c client.Client, o client.Object, err error) error {
		object, is := o.(extensionsv1alpha1.Object)
		if err != nil || !is || o.GetAnnotations()["gardener.cloud/operation"] != "restore" {
			return err
		}
		object.GetExtensionStatus().SetLastOperation(&gardencorev1beta1.LastOperation{Type: "Restore", State: "Processing"})
		return c.Status().Update(ctx, object)
	}
	takeUp := interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return takenUp(ctx, c, o, c.Create(ctx, o, options...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			return takenUp(ctx, c, o, c.Patch(ctx, o, patch, options...))
		},
	}
	return &controlplane.Factory{
		Settings: scope.Settings{
			SeedName: "b", InternalDomain: "test", OwnerCheckInterval: time.Millisecond, OwnerCheckTimeout: 5 * time.Millisecond,
			WaitInterval: 5 * time.Millisecond, GatewayNamespace: "istio-ingress", GatewayService: "gateway",
		},
		Clock: clock.RealClock{}, Boottime: boottime, Garden: garden, Seed: interceptor.NewClient(seed, takeUp),
		Bell:   &scope.Bell{},
		Owners: owners, Bucket: buckets, States: &shootstate.Store{Garden: garden, Clock: clock.RealClock{}},
	}
}

// What is left of the shoot is taken up, under an epoch of its own, and then the deletion goes on from here.
func TestTheDestinationTakesUpWhatADeletionHasLeft(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"backup entry gone": false, "backup entry being deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := forced(dying(withWorkers(stranded("s", "b", "b", "Migrate", "Aborted"))))
			shoot.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Name: "profile"}
			shoot.Spec.DNS = &gardencorev1beta1.DNS{Domain: ptr.To("s.example"),
				Providers: []gardencorev1beta1.DNSProvider{{Primary: ptr.To(true), SecretName: ptr.To("deleted-too")}}}
			garden := newGarden(t, "Unknown", shoot)
			if err := garden.Create(t.Context(),
				&gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "profile"}}); err != nil {
				t.Fatal(err)
			}
			forget(t, garden, shoot, waits, false)
			owners, buckets := ownedBy("a", 3), shelves{"uid-a": nil}
			factory := newFactory(t, garden, owners, buckets)
			r := &operation.Reconciler{Factory: factory, Flows: moving(nil), Runner: &run.Runner{Version: "v1",
				Events: &eventLog{}, Periods: run.Periods{Retry: time.Hour, Progress: time.Millisecond}}}
			if _, err := r.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); err != nil {
				t.Fatal(err)
			}
			if got := state(t, garden)["s"]; got != "b b Restore/Succeeded false" {
				t.Fatalf("it is %s", got)
			}
			want := ownership.Record{Owner: "uid-b", Epoch: 4, Seed: "b"}
			if diff := cmp.Diff([]ownership.Record{want, want}, []ownership.Record{owners.claim.Record(),
				owners.decision.Record()}); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			for _, object := range []client.Object{
				&extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "s"}},
				&extensionsv1alpha1.DNSRecord{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "s-internal"}},
				&extensionsv1alpha1.DNSRecord{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "s-external"}},
			} {
				if err := factory.Seed.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Errorf("the extension cannot delete what it has no object for: %v", err)
				}
			}
			if err := garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
				t.Fatal(err)
			}
			if next := lifecycle.OperationType(shoot); next != gardencorev1beta1.LastOperationTypeDelete {
				t.Errorf("next is %s", next)
			}
			if waits {
				dies(t, factory, backupEntryOf(shoot))
				if _, there := buckets["uid-a"]; there {
					t.Error("the backups are left in the bucket of the dead seed")
				}
			}
		})
	}
}

// dies checks that this seed ends the deletion of a backup entry.
func dies(t *testing.T, factory *controlplane.Factory, entry *gardencorev1beta1.BackupEntry) {
	t.Helper()
	entries := &BackupEntries{Garden: factory.Garden, Seed: factory.Seed, Clock: factory.Clock, SeedName: "b",
		Retry: time.Second}
	if _, err := entries.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: client.ObjectKeyFromObject(entry)}); err != nil {
		t.Fatal(err)
	}
	if err := factory.Garden.Get(t.Context(), client.ObjectKeyFromObject(entry), entry); !apierrors.IsNotFound(err) {
		t.Errorf("the backup entry is still there, seed %q: %v", ptr.Deref(entry.Spec.SeedName, ""), err)
	}
}
