package migration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// entryOnSeed is the BackupEntry of a shoot on seed a, with what the extension has of it.
func entryOnSeed(t *testing.T, change func(*gardencorev1beta1.BackupEntry, *extensionsv1alpha1.BackupEntry)) (*BackupEntries, client.ObjectKey) {
	t.Helper()
	entry := backupEntryOf(stranded("s", "a", "a", "Restore", "Processing"))
	entry.Status.SeedName, entry.Finalizers = ptr.To("a"), []string{"gardener"}
	object := &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: entry.Name}}
	object.Spec.Type, object.Spec.BucketName = "transplant", "uid-a"
	change(entry, object)
	bucket := &extensionsv1alpha1.BackupBucket{ObjectMeta: metav1.ObjectMeta{Name: "uid-a"}}
	bucket.Spec.Type = "transplant"
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "control-plane-kubeconfig-cloud"}}
	scheme := gardenScheme(t)
	return &BackupEntries{
		Garden:   fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(entry).WithObjects(entry).Build(),
		Seed:     fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(object).WithObjects(object, bucket, credentials).Build(),
		Clock:    testingclock.NewFakePassiveClock(time.Unix(1000, 0)),
		SeedName: "a", Retry: time.Second,
	}, client.ObjectKeyFromObject(entry)
}

// look reconciles the entry once, and returns both objects as they are afterwards.
func look(t *testing.T, r *BackupEntries, key client.ObjectKey) (*gardencorev1beta1.BackupEntry, *extensionsv1alpha1.BackupEntry) {
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

// A migration that was called off just when the extension had let go: its Succeeded is that of the migration. Who took it for
// readiness would have an entry that nobody looks after, and whose deletion leaves the backups behind.
func TestWhatWasLetGoIsAskedForAgain(t *testing.T) {
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

// What keeps backups from being deleted is told in the garden, where the flow that waits for it finds it; an older error is not.
func TestADeletionThatHangsSaysWhy(t *testing.T) {
	t.Parallel()
	r, key := entryOnSeed(t, func(entry *gardencorev1beta1.BackupEntry, object *extensionsv1alpha1.BackupEntry) {
		entry.DeletionTimestamp = ptr.To(metav1.Now())
		entry.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded"}
		object.Finalizers = []string{"extensions.gardener.cloud/backupentry"}
		object.Status.LastError = &gardencorev1beta1.LastError{Description: "of the time before"}
	})
	entry, object := look(t, r, key)
	if last := entry.Status.LastOperation; object.DeletionTimestamp == nil || entry.Status.LastError != nil || last.Type != "Delete" || last.State != "Processing" {
		t.Errorf("deleted %v, %+v, error %+v", object.DeletionTimestamp, last, entry.Status.LastError)
	}
	object.Status.LastError = &gardencorev1beta1.LastError{Description: "the bucket is locked", Codes: []gardencorev1beta1.ErrorCode{"ERR_INFRA_UNAUTHORIZED"}}
	if err := r.Seed.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	entry, _ = look(t, r, key)
	if e := entry.Status.LastError; e == nil || e.Description != "the bucket is locked" || len(e.Codes) != 1 || len(entry.Finalizers) != 1 {
		t.Errorf("the error is %+v, finalizers %v", e, entry.Finalizers)
	}
}
