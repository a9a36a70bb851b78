package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

// entryOnSeed is the BackupEntry of a shoot on seed a, with what the extension has of it.
func entryOnSeed(t *testing.T, change func(*gardencorev1beta1.BackupEntry,
	*extensionsv1alpha1.BackupEntry)) (*BackupEntries, client.ObjectKey) {
	t.Helper()
	entry := backupEntryOf(stranded("s", "a", "a", "Restore", "Processing"))
	entry.Status.SeedName, entry.Finalizers = ptr.To("a"), []string{"gardener"}
	object := &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: entry.Name}}
	object.Spec.Type, object.Spec.BucketName = "transplant", "uid-a"
	change(entry, object)
	bucket := &extensionsv1alpha1.BackupBucket{ObjectMeta: metav1.ObjectMeta{Name: "uid-a"}}
	bucket.Spec.Type = "transplant"
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden",
		Name: "control-plane-kubeconfig-cloud"}}
	scheme := gardenScheme(t)
	return &BackupEntries{
		Garden: fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(entry).WithObjects(entry).Build(),
		Seed: fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(object).WithObjects(object, bucket,
			credentials).Build(),
		Clock:    testingclock.NewFakePassiveClock(time.Unix(1000, 0)),
		SeedName: "a", Retry: time.Second,
	}, client.ObjectKeyFromObject(entry)
}

// The credentials for the bucket come to the extension, and by it to the control plane, for this shoot only.
func TestBackupEntries_Credentials_AreGoodForTheShootOnly(t *testing.T) {
	t.Parallel()
	r, key := entryOnSeed(t, func(_ *gardencorev1beta1.BackupEntry, object *extensionsv1alpha1.BackupEntry) {
		object.Status.LastError = &gardencorev1beta1.LastError{Description: "the credentials are refused"}
	})
	const ofAll = `{"apiVersion": "v1", "kind": "Config", "users": [{"name": "c", "user": {"token": "of-all-shoots"}}]}`
	secret := &corev1.Secret{}
	source := client.ObjectKey{Namespace: "garden", Name: "control-plane-kubeconfig-cloud"}
	if err := r.Seed.Get(t.Context(), source, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = map[string][]byte{"kubeconfig": []byte(ofAll)}
	if err := r.Seed.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	look(t, r, key)
	copied := client.ObjectKey{Namespace: "garden", Name: "entry-" + key.Name}
	if err := r.Seed.Get(t.Context(), copied, secret); err != nil {
		t.Fatal(err)
	}
	token := cloud.ConfinedToken("of-all-shoots", backupentry.NamespaceOf(key.Name))
	text := string(secret.Data["kubeconfig"])
	if !strings.Contains(text, token) || strings.Contains(text, "of-all-shoots") {
		t.Errorf("the extension gets %s", text)
	}
}

// An extension that has been asked and has no error needs nothing more: the entry wakes its reconciler at each step.
func TestBackupEntries_ExtensionThatWorks_IsGivenNothingAgain(t *testing.T) {
	t.Parallel()
	r, key := entryOnSeed(t, func(*gardencorev1beta1.BackupEntry, *extensionsv1alpha1.BackupEntry) {})
	requests := map[string]int{}
	r.Seed = interceptor.NewClient(r.Seed.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			requests[fmt.Sprintf("get %T", object)]++
			return c.Get(ctx, key, object, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, p client.Patch,
			options ...client.PatchOption) error {
			requests[fmt.Sprintf("patch %T", object)]++
			return c.Patch(ctx, object, p, options...)
		},
	})
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"get *v1alpha1.BackupEntry": 1}, requests); diff != "" {
		t.Errorf("requests to the seed (-want +got):\n%s", diff)
	}
}

// look reconciles the entry once, and returns both objects as they are afterwards.
func look(t *testing.T, r *BackupEntries, key client.ObjectKey) (*gardencorev1beta1.BackupEntry,
	*extensionsv1alpha1.BackupEntry) {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	entry, object := &gardencorev1beta1.BackupEntry{}, &extensionsv1alpha1.BackupEntry{}
	if err := r.Garden.Get(t.Context(), key, entry); err != nil {
		t.Fatal(err)
	}
	if err := r.Seed.Get(t.Context(), client.ObjectKey{Name: key.Name}, object); err != nil {
		t.Fatal(err)
	}
	return entry, object
}

// A migration that was called off just when the extension had released the object: its Succeeded is that of the
// migration. Who took it for readiness would have an entry that nobody looks after, and whose deletion leaves the
// backups behind.
func TestBackupEntry_ReleasedForAMigrationCalledOff_IsAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"", "restore"} {
		r, key := entryOnSeed(t, func(entry *gardencorev1beta1.BackupEntry, object *extensionsv1alpha1.BackupEntry) {
			entry.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Migrate", State: "Processing"}
			object.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Migrate", State: "Succeeded"}
			if request != "" {
				entry.Annotations = map[string]string{"gardener.cloud/operation": request}
			}
		})
		want := "reconcile"
		if request != "" {
			want = request
		}
		for range 2 { // the second look is before the extension's
			entry, object := look(t, r, key)
			if got := object.Annotations["gardener.cloud/operation"]; got != want {
				t.Errorf("the extension is asked to %q, want %q", got, want)
			}
			if last := entry.Status.LastOperation; last.State != "Processing" {
				t.Errorf("the entry is %s %s", last.Type, last.State)
			}
		}
	}
}

// A shoot may leave a destination before that has removed the way to the bucket it came from. The next one takes the
// way over, and nobody asks for it by a restore: who waited for that would wait for ever.
func TestOnlyTheShootsOwnEntryWaitsUntilItIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, reconciled := range map[string]bool{"shoot--p--s--uid": false, "source-shoot--p--s--uid": true} {
		r, key := entryOnSeed(t, func(entry *gardencorev1beta1.BackupEntry, object *extensionsv1alpha1.BackupEntry) {
			entry.Name, object.Name = name, name
			entry.Status.SeedName = nil
			entry.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Migrate", State: "Succeeded"}
		})
		settle(t, r, key)
		entry, _ := look(t, r, key)
		if last := entry.Status.LastOperation; (last.Type == "Reconcile" && last.State == "Succeeded" &&
			ptr.Deref(entry.Status.SeedName, "") == "a") != reconciled {
			t.Errorf("%s is %s %s on seed %q", name, last.Type, last.State, ptr.Deref(entry.Status.SeedName, ""))
		}
	}
}

// What keeps backups from being deleted is reported in the garden, where the flow that waits for it finds it; an older
// error is not.
func TestADeletionThatHangsSaysWhy(t *testing.T) {
	t.Parallel()
	r, key := entryOnSeed(t, func(entry *gardencorev1beta1.BackupEntry, object *extensionsv1alpha1.BackupEntry) {
		entry.DeletionTimestamp = ptr.To(metav1.Now())
		entry.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded"}
		object.Finalizers = []string{"extensions.gardener.cloud/backupentry"}
		object.Status.LastError = &gardencorev1beta1.LastError{Description: "of the time before"}
	})
	entry, object := look(t, r, key)
	if last := entry.Status.LastOperation; object.DeletionTimestamp == nil || entry.Status.LastError != nil ||
		last.Type != "Delete" || last.State != "Processing" {
		t.Errorf("deleted %v, %+v, error %+v", object.DeletionTimestamp, last, entry.Status.LastError)
	}
	object.Status.LastError = &gardencorev1beta1.LastError{Description: "the bucket is locked",
		Codes: []gardencorev1beta1.ErrorCode{"ERR_INFRA_UNAUTHORIZED"}}
	if err := r.Seed.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	entry, _ = look(t, r, key)
	if e := entry.Status.LastError; e == nil || e.Description != "the bucket is locked" || len(e.Codes) != 1 ||
		len(entry.Finalizers) != 1 {
		t.Errorf("the error is %+v, finalizers %v", e, entry.Finalizers)
	}
}

// A shoot may come back to the seed it came from before the one in between had copied anything: the way to the bucket
// it comes from is then one to its own. Whoever deletes an extension's object deletes the backups with it; here they
// would be the only ones.
func TestTheWayToItsOwnBackupsGoesWithoutThem(t *testing.T) {
	t.Parallel()
	const source = "source-shoot--p--s--uid"
	for name, c := range map[string]struct {
		name    string // of the entry that is deleted
		own     string // bucket of the shoot's own entry; empty if there is none
		dying   bool   // the extension's object is being deleted already
		emptied []string
	}{
		"the way to its own bucket":             {name: source, own: "uid-a"},
		"the same, its deletion has begun":      {name: source, own: "uid-a", dying: true},
		"the way to the bucket it comes from":   {name: source, own: "uid-b", emptied: []string{"uid-a"}},
		"the way to the bucket of what is gone": {name: source, emptied: []string{"uid-a"}},
		"the backups themselves":                {name: "shoot--p--s--uid", emptied: []string{"uid-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, key := entryOnSeed(t, func(entry *gardencorev1beta1.BackupEntry, object *extensionsv1alpha1.BackupEntry) {
				entry.Name, object.Name = c.name, c.name
				object.Finalizers = []string{"extensions.gardener.cloud/backupentry"}
				object.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded"}
			})
			var left []client.Object // what must not be
			for _, key := range []client.ObjectKey{{Namespace: "garden", Name: "entry-" + c.name},
				{Namespace: "shoot--p--s", Name: "source-etcd-backup"}} {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
				create(t, r.Seed, secret)
				if key.Namespace == "garden" || c.name == source {
					left = append(left, secret)
				}
			}
			if c.own != "" {
				own := backupEntryOf(stranded("s", "a", "a", "Restore", "Processing"))
				own.Spec.BucketName = c.own
				create(t, r.Garden, own)
			}
			if c.dying {
				remove(t, r.Seed, &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: c.name}})
			}
			entry := &gardencorev1beta1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			remove(t, r.Garden, entry)
			if emptied := settle(t, r, key); !slices.Equal(emptied, c.emptied) {
				t.Errorf("emptied are the buckets %v, want %v", emptied, c.emptied)
			}
			for _, object := range append(left, entry) {
				from := r.Seed
				if object == entry {
					from = r.Garden
				}
				if err := from.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
					t.Errorf("%T %q is still there: %v", object, object.GetName(), err)
				}
			}
		})
	}
}

// settle lets the entry's controller and the extension's work by turns until both have nothing to do, and returns the
// buckets that the extension has emptied.
func settle(t *testing.T, r *BackupEntries, key client.ObjectKey) (emptied []string) {
	t.Helper()
	kind := contract.KindOf[*extensionsv1alpha1.BackupEntry](extensionsv1alpha1.BackupEntryResource)
	kind.ClusterOptional = true
	kind.OnReconcile = func(context.Context, logr.Logger, *extensionsv1alpha1.BackupEntry, *contract.Cluster) error {
		return nil
	}
	kind.OnDelete = func(_ context.Context, _ logr.Logger, object *extensionsv1alpha1.BackupEntry,
		_ *contract.Cluster) error {
		emptied = append(emptied, object.Spec.BucketName)
		return nil
	}
	extension := &contract.Reconciler[*extensionsv1alpha1.BackupEntry]{
		Client: r.Seed, Clock: r.Clock, Type: "transplant", Class: extensionsv1alpha1.ExtensionClassShoot, Kind: kind,
	}
	for range 8 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		if _, err := extension.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKey{Name: key.Name}}); err != nil {
			t.Fatal(err)
		}
	}
	return emptied
}

func create(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
