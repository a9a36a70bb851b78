package migration

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// BackupEntries reconciles the garden's BackupEntries of this seed by means of the extension's
// (docs/specification/migration.md#spec-2-7).
type BackupEntries struct {
	// Garden and Seed are uncached clients.
	Garden, Seed client.Client
	Clock        clock.PassiveClock
	SeedName     string
	// Extensions are the ServiceAccounts (namespace/name) that need the credentials of backups.
	Extensions []string
	// Retry is when to look again at an extension that has not answered; its events come earlier.
	Retry time.Duration
}

// Reconcile does what the entry asks of this seed.
func (r *BackupEntries) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	entry := &gardencorev1beta1.BackupEntry{}
	if err := r.Garden.Get(ctx, request.NamespacedName, entry); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	switch r.task(entry) {
	case entryDelete:
		return r.remove(ctx, entry)
	case entryMigrate:
		return r.migrate(ctx, entry)
	case entryReconcile:
		return r.reconcile(ctx, entry)
	}
	return reconcile.Result{}, nil
}

// entryTask is what an entry asks of this seed; empty for nothing.
type entryTask string

const (
	entryDelete    entryTask = "Delete"
	entryMigrate   entryTask = "Migrate"
	entryReconcile entryTask = "Reconcile"
)

// task depends on nothing but the entry.
func (r *BackupEntries) task(entry *gardencorev1beta1.BackupEntry) entryTask {
	switch {
	case lifecycle.ResponsibleSeed(entry.Spec.SeedName, entry.Status.SeedName) != r.SeedName:
		return ""
	case entry.DeletionTimestamp != nil:
		return entryDelete
	case entry.Status.SeedName != nil && *entry.Spec.SeedName != *entry.Status.SeedName:
		return entryMigrate
	case handedOver(entry) == nil && backupentry.SourceOf(entry.Name) == "" &&
		entry.Annotations[constants.GardenerOperation] != constants.GardenerOperationRestore:
		// Released by its source: it waits until the destination asks for it. The way to the old bucket has been asked for by
		// who pointed it here, and asks for nothing back.
		return ""
	case settled(entry):
		return ""
	}
	return entryReconcile
}

// asksAnew reports whether a change of an entry is more than this seed's own report about what it does.
func (r *BackupEntries) asksAnew(before, after *gardencorev1beta1.BackupEntry) bool {
	task := r.task(after)
	return task != "" && (task != r.task(before) || after.Generation != before.Generation ||
		!maps.Equal(after.Annotations, before.Annotations))
}

// isAnswer reports whether the extension's object says something new.
func isAnswer(object client.Object) bool {
	answer, ok := object.(*extensionsv1alpha1.BackupEntry)
	return ok && backupentry.HasNews(answer, answer.Status.LastOperation, answer.Status.LastError)
}

// entryOf is the entry to look at when the extension's object has answered or gone, by what the cache of the garden
// says. The retry of an entry that waits finds what the cache does not know.
func (r *BackupEntries) entryOf(ctx context.Context, garden client.Reader, object client.Object) []reconcile.Request {
	entries := &gardencorev1beta1.BackupEntryList{}
	if garden.List(ctx, entries) != nil {
		return nil
	}
	for i := range entries.Items {
		if entry := &entries.Items[i]; entry.Name == object.GetName() && r.task(entry) != "" {
			return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(entry)}}
		}
	}
	return nil
}

// settled reports whether the entry is as it was asked to be.
func settled(entry *gardencorev1beta1.BackupEntry) bool {
	last := entry.Status.LastOperation
	return entry.Annotations[constants.GardenerOperation] == "" && entry.Status.ObservedGeneration == entry.Generation &&
		entry.Status.SeedName != nil && last != nil && last.State == gardencorev1beta1.LastOperationStateSucceeded
}

// reconcile brings the extension's object and its secret in line with the entry.
func (r *BackupEntries) reconcile(ctx context.Context, entry *gardencorev1beta1.BackupEntry) (reconcile.Result, error) {
	operation := gardencorev1beta1.LastOperationTypeReconcile
	if entry.Annotations[constants.GardenerOperation] == constants.GardenerOperationRestore {
		operation = gardencorev1beta1.LastOperationTypeRestore
	}
	if err := patch.LockedObject(ctx, r.Garden, entry, func() {
		controllerutil.AddFinalizer(entry, constants.GardenerFinalizer)
	}); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.report(ctx, entry, operation, gardencorev1beta1.LastOperationStateProcessing, 0,
		func(s *gardencorev1beta1.BackupEntryStatus) {
			s.SeedName = &r.SeedName
		}); err != nil {
		return reconcile.Result{}, err
	}
	ready, err := r.deploy(ctx, entry, operation)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !ready {
		return reconcile.Result{RequeueAfter: r.Retry}, nil
	}
	if operation == gardencorev1beta1.LastOperationTypeRestore {
		if err := patch.Object(ctx, r.Garden, entry, func() {
			delete(entry.Annotations, constants.GardenerOperation)
		}); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, r.report(ctx, entry, operation, gardencorev1beta1.LastOperationStateSucceeded, 100, nil)
}

// deploy deploys the extension's BackupEntry, and returns whether it is ready.
func (r *BackupEntries) deploy(ctx context.Context, entry *gardencorev1beta1.BackupEntry,
	operation gardencorev1beta1.LastOperationType) (bool, error) {
	object := &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: entry.Name}}
	err := r.Seed.Get(ctx, client.ObjectKeyFromObject(object), object)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read the extension's backup entry %q: %w", entry.Name, err)
	}
	to := r.extensions()
	to.Missing = err != nil
	asked := !to.Missing && object.Spec.BucketName == entry.Spec.BucketName && !needsRequest(entry, object)
	if asked && object.Status.LastError == nil { // else it may lack the credentials of now
		return r.answered(ctx, entry, object)
	}
	spec, err := r.inBucket(ctx, entry.Spec.BucketName)
	if err != nil {
		return false, err
	}
	data, err := namespace.CloudCredentials(ctx, r.Seed, backupentry.NamespaceOf(entry.Name))
	if err != nil {
		return false, err
	}
	secret, err := copyCredentials(ctx, r.Seed, constants.SecretNamePrefixBackupEntry+entry.Name, data, r.Extensions)
	if err != nil {
		return false, err
	}
	if asked {
		return r.answered(ctx, entry, object)
	}
	wanted := constants.GardenerOperationReconcile
	if operation == gardencorev1beta1.LastOperationTypeRestore {
		wanted = constants.GardenerOperationRestore
	}
	return false, to.Deploy(ctx, object, wanted, func() error {
		object.Spec, object.Spec.SecretRef = spec, *secret
		return nil
	})
}

// inBucket is the spec of an entry in a bucket, without credentials.
func (r *BackupEntries) inBucket(ctx context.Context, name string) (extensionsv1alpha1.BackupEntrySpec, error) {
	spec := extensionsv1alpha1.BackupEntrySpec{BucketName: name}
	bucket := &extensionsv1alpha1.BackupBucket{}
	err := r.Seed.Get(ctx, client.ObjectKey{Name: name}, bucket)
	spec.Type, spec.Region, spec.BackupBucketProviderStatus = bucket.Spec.Type, bucket.Spec.Region,
		bucket.Status.ProviderStatus
	if apierrors.IsNotFound(err) {
		// The bucket of another seed: the garden's object has its provider.
		core := &gardencorev1beta1.BackupBucket{}
		err = r.Garden.Get(ctx, client.ObjectKey{Name: name}, core)
		spec.Type, spec.Region, spec.BackupBucketProviderStatus = core.Spec.Provider.Type, core.Spec.Provider.Region,
			core.Status.ProviderStatus
	}
	if err != nil {
		return spec, fmt.Errorf("read backup bucket %q: %w", name, err)
	}
	return spec, nil
}

// extensions are asked by means of their objects.
func (r *BackupEntries) extensions() contract.Client {
	return contract.Client{Seed: r.Seed, Clock: r.Clock}
}

// needsRequest reports whether the garden's entry has changed since the extension last answered. What the extension has
// released for a migration that was called off is not ready, whatever its state.
func needsRequest(entry *gardencorev1beta1.BackupEntry, object *extensionsv1alpha1.BackupEntry) bool {
	last := object.Status.LastOperation
	if last == nil || object.Annotations[constants.GardenerOperation] != "" {
		return false
	}
	return last.State == gardencorev1beta1.LastOperationStateFailed ||
		last.Type == gardencorev1beta1.LastOperationTypeMigrate ||
		entry.Annotations[constants.GardenerOperation] == constants.ShootOperationReconcile
}

func (r *BackupEntries) answered(ctx context.Context, entry *gardencorev1beta1.BackupEntry,
	object *extensionsv1alpha1.BackupEntry) (bool, error) {
	err := contract.Ready(object)
	if object.Status.LastError == nil {
		return err == nil, nil
	}
	return false, patch.Status(ctx, r.Garden, entry, func() { entry.Status.LastError = object.Status.LastError })
}

// copyCredentials gives extensions credentials for backups, as a Secret in the namespace garden: they reach this one,
// and none of the gardenlet's.
func copyCredentials(ctx context.Context, seed client.Client, name string, data map[string][]byte,
	extensions []string) (*corev1.SecretReference, error) {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: constants.GardenNamespace},
		Data:       data,
	}
	if err := objects.Apply(ctx, seed, secret); err != nil {
		return nil, err
	}
	if err := objects.GrantSecret(ctx, seed, secret, extensions...); err != nil {
		return nil, err
	}
	return &corev1.SecretReference{Name: name, Namespace: constants.GardenNamespace}, nil
}

// migrate releases the entry on its source: the extension releases its object, which then goes, and so does this
// seed's name.
func (r *BackupEntries) migrate(ctx context.Context, entry *gardencorev1beta1.BackupEntry) (reconcile.Result, error) {
	const operation = gardencorev1beta1.LastOperationTypeMigrate
	object := &extensionsv1alpha1.BackupEntry{}
	err := r.Seed.Get(ctx, client.ObjectKey{Name: entry.Name}, object)
	if apierrors.IsNotFound(err) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: constants.SecretNamePrefixBackupEntry + entry.Name,
			Namespace: constants.GardenNamespace}}
		if err := r.Seed.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("delete secret %q: %w", secret.Name, err)
		}
		return reconcile.Result{}, r.report(ctx, entry, operation, gardencorev1beta1.LastOperationStateSucceeded, 100,
			func(s *gardencorev1beta1.BackupEntryStatus) {
				s.SeedName = nil
			})
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read the extension's backup entry %q: %w", entry.Name, err)
	}
	if err := r.report(ctx, entry, operation, gardencorev1beta1.LastOperationStateProcessing, 50, nil); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.Retry}, r.extensions().ReleaseOnce(ctx, object)
}

// remove deletes the backups with the entry, unless they are another entry's.
func (r *BackupEntries) remove(ctx context.Context, entry *gardencorev1beta1.BackupEntry) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(entry, constants.GardenerFinalizer) {
		return reconcile.Result{}, nil
	}
	object := &extensionsv1alpha1.BackupEntry{}
	err := r.Seed.Get(ctx, client.ObjectKey{Name: entry.Name}, object)
	if err == nil {
		return reconcile.Result{RequeueAfter: r.Retry}, r.removing(ctx, entry, object)
	}
	if !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("read the extension's backup entry %q: %w", entry.Name, err)
	}
	if err := r.deleteSecrets(ctx, entry); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, client.IgnoreNotFound(patch.Object(ctx, r.Garden, entry, func() {
		controllerutil.RemoveFinalizer(entry, constants.GardenerFinalizer)
	}))
}

// deleteSecrets deletes the credentials that the entry came with. An extension that had to release a source has left
// some in the shoot's namespace too, where nobody needs them any more.
func (r *BackupEntries) deleteSecrets(ctx context.Context, entry *gardencorev1beta1.BackupEntry) error {
	keys := []client.ObjectKey{{Namespace: constants.GardenNamespace, Name: constants.SecretNamePrefixBackupEntry +
		entry.Name}}
	if backupentry.SourceOf(entry.Name) != "" {
		keys = append(keys, client.ObjectKey{Namespace: backupentry.NamespaceOf(entry.Name),
			Name: backupentry.SecretSourceBackup})
	}
	for _, key := range keys {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		if err := r.Seed.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete secret %q: %w", key, err)
		}
	}
	return nil
}

// removing deletes the extension's object, and says what keeps it. Where that stands for the shoot's own backups, the
// extension releases it first: it would delete them too.
func (r *BackupEntries) removing(ctx context.Context, entry *gardencorev1beta1.BackupEntry,
	object *extensionsv1alpha1.BackupEntry) error {
	var lastError *gardencorev1beta1.LastError
	if object.DeletionTimestamp != nil { // an older error is none of the deletion
		lastError = object.Status.LastError
	}
	release := r.extensions().DeleteOnce
	if own, err := r.leadsToOwnBackups(ctx, entry, object); err != nil {
		return err
	} else if own {
		release = r.extensions().ReleaseOnce
	}
	if err := release(ctx, object); err != nil {
		return err
	}
	return r.report(ctx, entry, gardencorev1beta1.LastOperationTypeDelete, gardencorev1beta1.LastOperationStateProcessing,
		0, func(s *gardencorev1beta1.BackupEntryStatus) {
			s.LastError = lastError
		})
}

// leadsToOwnBackups reports whether a source's object names the bucket in which the shoot's own entry has its backups.
// That is so when a shoot comes back to the seed that it came from, before the one in between has copied anything.
func (r *BackupEntries) leadsToOwnBackups(ctx context.Context, entry *gardencorev1beta1.BackupEntry,
	object *extensionsv1alpha1.BackupEntry) (bool, error) {
	name := backupentry.SourceOf(entry.Name)
	if name == "" {
		return false, nil
	}
	own := &gardencorev1beta1.BackupEntry{}
	err := r.Garden.Get(ctx, client.ObjectKey{Namespace: entry.Namespace, Name: name}, own)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read backup entry %q: %w", name, err)
	}
	return own.Spec.BucketName == object.Spec.BucketName, nil
}

// report patches the entry's status, unless it says already what is under way.
func (r *BackupEntries) report(ctx context.Context, entry *gardencorev1beta1.BackupEntry,
	operation gardencorev1beta1.LastOperationType, state gardencorev1beta1.LastOperationState, progress int32,
	mutate func(*gardencorev1beta1.BackupEntryStatus)) error {
	before := entry.DeepCopy()
	if mutate != nil {
		mutate(&entry.Status)
	}
	last := entry.Status.LastOperation
	processing := state == gardencorev1beta1.LastOperationStateProcessing
	if !processing || last == nil || last.Type != operation || last.State != state {
		entry.Status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: operation, State: state, Progress: progress, LastUpdateTime: metav1.NewTime(r.Clock.Now()),
			Description: fmt.Sprintf("%s of the backup entry: %s", operation, state),
		}
	}
	entry.Status.ObservedGeneration = entry.Generation
	if !processing {
		entry.Status.LastError = nil
	}
	if processing && equality.Semantic.DeepEqual(before.Status, entry.Status) {
		return nil // it was read anew for this
	}
	// The lock is also for an end that was reported before: the entry may be another seed's by now.
	if err := r.Garden.Status().Patch(ctx, entry, patch.AsRead(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch the status of backup entry %q: %w", entry.Name, err)
	}
	return nil
}
