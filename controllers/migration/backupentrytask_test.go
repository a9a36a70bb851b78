package migration

import (
	"context"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// What the seed itself reports about an entry wakes nobody. What others ask of it does.
func TestBackupEntries_AreWokenByWhatIsAsked(t *testing.T) {
	t.Parallel()
	type entry = gardencorev1beta1.BackupEntry
	last := func(kind gardencorev1beta1.LastOperationType,
		state gardencorev1beta1.LastOperationState) *gardencorev1beta1.LastOperation {
		return &gardencorev1beta1.LastOperation{Type: kind, State: state}
	}
	for name, c := range map[string]struct {
		before, after func(*entry) // the entry is on seed a, which reconciles it
		want          bool
	}{
		"it reports progress": {after: func(e *entry) { e.Status.LastOperation = last("Restore", "Processing") }},
		"it reports the end": {after: func(e *entry) {
			e.Status.LastOperation = last("Reconcile", "Succeeded")
		}},
		"it reports an error": {after: func(e *entry) {
			e.Status.LastError = &gardencorev1beta1.LastError{Description: "no luck"}
		}},
		"it takes the entry": {before: func(e *entry) { e.Status.SeedName = nil }, after: func(*entry) {}},
		"its finalizer":      {after: func(e *entry) { e.Finalizers = []string{"gardener"} }},
		"asked to restore": {after: func(e *entry) {
			e.Annotations = map[string]string{"gardener.cloud/operation": "restore"}
		}, want: true},
		"another bucket": {after: func(e *entry) { e.Spec.BucketName, e.Generation = "uid-b", 2 }, want: true},
		"handed over":    {after: func(e *entry) { e.Spec.SeedName = ptr.To("b") }, want: true},
		"deleted": {after: func(e *entry) {
			e.DeletionTimestamp, e.Generation = ptr.To(e.CreationTimestamp), 2
		}, want: true},
		"adopted": {before: func(e *entry) { e.Status.SeedName = ptr.To("b") },
			after: func(e *entry) { e.Status.SeedName = nil }, want: true},
		"another seed's": {after: func(e *entry) {
			e.Status.SeedName, e.Spec.SeedName, e.Generation = ptr.To("b"), ptr.To("b"), 2
		}},
	} {
		before := backupEntryOf(stranded("s", "a", "a", "Restore", "Processing"))
		before.Status.SeedName, before.Status.LastOperation, before.Generation = ptr.To("a"), last("Reconcile",
			"Processing"), 1
		before.Status.ObservedGeneration = 1
		after := before.DeepCopy()
		if c.before != nil {
			c.before(before)
		}
		c.after(after)
		if got := (&BackupEntries{SeedName: "a"}).asksAnew(before, after); got != c.want {
			t.Errorf("%s: woken %t, want %t", name, got, c.want)
		}
	}
}

// While the extension works the garden has nothing new to hear.
func TestBackupEntries_NothingNew_ReportNothing(t *testing.T) {
	t.Parallel()
	r, key := entryOnSeed(t, func(entry *gardencorev1beta1.BackupEntry, object *extensionsv1alpha1.BackupEntry) {
		object.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Processing"}
	})
	var reads, writes int
	r.Garden = interceptor.NewClient(r.Garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			options ...client.PatchOption) error {
			writes++
			return c.Patch(ctx, o, p, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, resource string, o client.Object, p client.Patch,
			options ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(resource).Patch(ctx, o, p, options...)
		},
	})
	look(t, r, key)
	reads, writes = 0, 0
	look(t, r, key)
	if reads != 2 || writes != 0 { // one read is that of this test
		t.Errorf("%d reads, want 2, and %d writes, want none", reads, writes)
	}
}

// Only an answer of the extension wakes the controller, and only for an entry that waits for one.
func TestBackupEntries_AreWokenByAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answered, dying, gone, settled, other bool
		want                                  int
	}{
		"the extension works":          {},
		"it has answered":              {answered: true, want: 1},
		"its object goes":              {dying: true},
		"its object has gone":          {dying: true, gone: true, want: 1},
		"nobody waits for the answer":  {answered: true, settled: true},
		"it is another entry's answer": {answered: true, other: true},
	} {
		var object *extensionsv1alpha1.BackupEntry
		r, _ := entryOnSeed(t, func(entry *gardencorev1beta1.BackupEntry, of *extensionsv1alpha1.BackupEntry) {
			object = of
			of.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Processing"}
			if c.settled {
				entry.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded"}
			}
		})
		if c.answered {
			object.Status.LastOperation.State = "Succeeded"
		}
		if c.dying {
			object.DeletionTimestamp = ptr.To(object.CreationTimestamp)
		}
		if c.other {
			object.Name = "shoot--p--t--uid"
		}
		got := r.entryOf(t.Context(), r.Garden, object)
		wakes := answers().Update(event.UpdateEvent{ObjectNew: object})
		if c.gone {
			wakes = answers().Delete(event.DeleteEvent{Object: object})
		}
		if (wakes && len(got) == 1) != (c.want == 1) {
			t.Errorf("%s: wakes: %t, for %v, want %d", name, wakes, got, c.want)
		}
	}
}
