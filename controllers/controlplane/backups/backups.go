// Package backups makes the backups of a shoot's etcd available on this seed
// (docs/specification/migration.md#spec-2-7). Making and restoring them is the business of etcd's sidecar.
package backups

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Backups are those of the shoot's etcd.
type Backups struct {
	*scope.Scope
	entries   *backupentry.Entries
	ownership *owner.Ownership
	// from is what source has said to this run since it owns the shoot; nil for nothing yet.
	from *string
}

// New makes it over a scope.
func New(s *scope.Scope) *Backups {
	return &Backups{Scope: s, entries: &backupentry.Entries{Scope: s}, ownership: owner.New(s)}
}

// ErrNoBackups says that a bucket has nothing that could be restored.
var ErrNoBackups = backup.ErrNoBackups

// ReasonBackupDamaged is the reason of the event that says what a forced restore could not bring back.
const ReasonBackupDamaged = "BackupDamaged"

// source is the bucket that the shoot's etcd is restored from; empty if there is nothing to restore. Usually it
// is the one that the BackupEntry names. A destination that died half-way may have pointed it at its own bucket before
// anything was copied there: then the way to the bucket before that is still kept.
func (b *Backups) source(ctx context.Context, here *owner.Survey) (string, error) {
	if !b.Restoring() {
		return "", nil
	}
	restored, err := here.EtcdRestored(ctx)
	if err != nil || restored {
		return "", err
	}
	entry, err := b.entries.Get(ctx)
	if err != nil {
		return "", err
	}
	if entry == nil {
		return "", fmt.Errorf("backup entry %q is missing: there is nothing to restore etcd from", b.BackupEntryName())
	}
	source, err := b.entries.GetSource(ctx)
	if err != nil {
		return "", err
	}
	bucket := entry.Spec.BucketName
	if source != nil {
		// Our own last run has pointed the entry here, or another's has, without a copy: what counts is where the data is.
		if bucket == b.BucketName() {
			return source.Spec.BucketName, nil
		}
		if err := b.Bucket.Check(ctx, bucket, b.entries.Prefix()); errors.Is(err, ErrNoBackups) {
			bucket = source.Spec.BucketName
		} else if err != nil {
			return "", fmt.Errorf("look at the backups in bucket %q: %w", bucket, err)
		}
	}
	return bucket, nil
}

// sourceOnce is source for the tasks of a run that owns the shoot: nobody else points the BackupEntry anywhere then.
// What the run makes of it and of etcd does not change where it began.
func (b *Backups) sourceOnce(ctx context.Context) (string, error) {
	if b.from == nil {
		here, err := b.ownership.Survey(ctx)
		if err != nil {
			return "", err
		}
		bucket, err := b.source(ctx, here)
		if err != nil {
			return "", err
		}
		b.from = &bucket
	}
	return *b.from, nil
}

// Check makes sure that there is something to restore etcd from; of a restore by force that has not taken the
// shoot over yet, that it can be read (docs/ownership.md#spec-9-3). After that the copy finds what is damaged:
// it may have what it needs. here is a new survey.
func (b *Backups) Check(ctx context.Context, here *owner.Survey) error {
	bucket, err := b.source(ctx, here)
	if err != nil {
		return err
	}
	restored := bucket == ""
	if restored {
		bucket = b.BucketName()
	}
	if err := b.Bucket.Check(ctx, bucket, b.entries.Prefix()); err != nil {
		return fmt.Errorf("look at the backups in bucket %q: %w", bucket, err)
	}
	if !restored {
		if err := b.refuseOlder(ctx, here, bucket); err != nil {
			return err
		}
	}
	if restored || !lifecycle.Forced(b.Shoot) {
		return nil
	}
	whose, err := here.Whose(ctx)
	if err != nil || whose == tenure.Ours || whose == tenure.OursAnew {
		return err
	}
	if err := b.Bucket.Readable(ctx, bucket, b.entries.Prefix()); err != nil {
		return fmt.Errorf("read the backups in bucket %q: %w", bucket, err)
	}
	return nil
}

// refuseOlder is an error if the seed that has the shoot by DNS has begun its epoch, and its backups are in another
// bucket than the restore would begin with: the garden is older than that epoch, and what was written in it would be
// lost.
func (b *Backups) refuseOlder(ctx context.Context, here *owner.Survey, bucket string) error {
	seed, record, err := here.Elsewhere(ctx)
	if err != nil || seed == nil || record.Owner == bucket {
		return err
	}
	err = b.Bucket.Check(ctx, record.Owner, b.entries.Prefix())
	if errors.Is(err, ErrNoBackups) || cloud.IsNoSuchBucket(err) {
		return nil // it has claimed the shoot, and not begun
	}
	begun := false
	if err == nil {
		begun, err = b.Bucket.Superseded(ctx, record.Owner, b.entries.Prefix(), record.Epoch-1)
	}
	if err != nil {
		return fmt.Errorf("look whether seed %q has begun epoch %d: %w", seed.Name, record.Epoch, err)
	}
	if begun {
		return fmt.Errorf("seed %q has the newer backups, of epoch %d, and the shoot by its record in DNS: the garden, "+
			"which names bucket %q, is older; bind the shoot to seed %[1]q", seed.Name, record.Epoch, bucket)
	}
	return nil
}

// DeployEntry points the shoot's BackupEntry at this seed and its bucket.
func (b *Backups) DeployEntry(ctx context.Context) error {
	entry := &gardencorev1beta1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: b.BackupEntryName(),
		Namespace: b.Shoot.Namespace}}
	// A seed that was built anew under its name has the garden's entry, but not its extension's.
	absent := objects.Gone(ctx, b.Seed,
		&extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: entry.Name}}) == nil
	return patch.CreateOrPatch(ctx, b.Garden, entry, func(e *gardencorev1beta1.BackupEntry) error {
		if holder := ptr.Deref(e.Spec.SeedName, b.SeedName); holder != b.SeedName && !b.Restoring() {
			return fmt.Errorf("backup entry %q is seed %q's: it is not taken from there", e.Name, holder)
		}
		b.own(e)
		last := e.Status.LastOperation
		handedOver := last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate
		if b.Restoring() && (e.Spec.BucketName != b.BucketName() || handedOver || absent) {
			metav1.SetMetaDataAnnotation(&e.ObjectMeta, constants.GardenerOperation, constants.GardenerOperationRestore)
		}
		e.Spec.BucketName, e.Spec.SeedName = b.BucketName(), ptr.To(b.SeedName)
		return nil
	})
}

func (b *Backups) own(entry *gardencorev1beta1.BackupEntry) {
	entry.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot", Name: b.Shoot.Name, UID: b.Shoot.UID,
	}}
}

// WaitEntry waits until the shoot's backups can be reached from this seed.
func (b *Backups) WaitEntry(ctx context.Context) error {
	return b.waitEntry(ctx, b.BackupEntryName())
}

func (b *Backups) waitEntry(ctx context.Context, name string) error {
	return b.AwaitEntry(ctx, name, 10*time.Minute, fmt.Sprintf("backup entry %q", name),
		func(ctx context.Context, garden client.Reader) error {
			entry, err := backupentry.Read(ctx, garden, client.ObjectKey{Namespace: b.Shoot.Namespace, Name: name})
			if err != nil {
				return err
			}
			if entry == nil {
				return errors.New("it does not exist")
			}
			return entryReady(entry)
		})
}

func entryReady(entry *gardencorev1beta1.BackupEntry) error {
	last := entry.Status.LastOperation
	switch {
	case entry.Status.LastError != nil:
		return &errorcodes.Error{Message: entry.Status.LastError.Description, Codes: entry.Status.LastError.Codes}
	case entry.Status.ObservedGeneration != entry.Generation:
		return fmt.Errorf("observed generation %d is outdated, want %d", entry.Status.ObservedGeneration, entry.Generation)
	case entry.Annotations[constants.GardenerOperation] != "":
		return fmt.Errorf("operation %q is not yet picked up", entry.Annotations[constants.GardenerOperation])
	case last == nil:
		return errors.New("no last operation is recorded yet")
	case last.Type == gardencorev1beta1.LastOperationTypeMigrate ||
		last.State != gardencorev1beta1.LastOperationStateSucceeded:
		return fmt.Errorf("last operation is %s/%s", last.Type, last.State)
	}
	return nil
}

// Copy copies the shoot's backups from the bucket of the seed it comes from. Where they are in this seed's own,
// etcd finds them by itself; but only a restore by force can do without some, and fixes before etcd looks what is left.
func (b *Backups) Copy(ctx context.Context) error {
	bucket, err := b.sourceOnce(ctx)
	if err != nil || bucket == "" || bucket == b.BucketName() && !lifecycle.Forced(b.Shoot) {
		return err
	}
	leftOut, err := b.Bucket.Copy(ctx, bucket, b.BucketName(), b.entries.Prefix(), b.Epoch, lifecycle.Forced(b.Shoot))
	if err != nil || len(leftOut) == 0 {
		return err
	}
	b.Events.Event(b.Shoot, corev1.EventTypeWarning, ReasonBackupDamaged,
		fmt.Sprintf("These backups are damaged, or behind a damaged or missing one, and are left out; what only they had "+
			"is lost: %s", strings.Join(leftOut, ", ")))
	return nil
}

// DeploySource keeps the way to the old bucket open under another name before the BackupEntry is pointed
// at the new one, if they are not the same.
func (b *Backups) DeploySource(ctx context.Context) error {
	bucket, err := b.sourceOnce(ctx)
	if err != nil || bucket == "" || bucket == b.BucketName() {
		return err
	}
	entry, err := b.entries.Get(ctx)
	if err != nil {
		return err
	}
	name := backupentry.SourcePrefix + b.BackupEntryName()
	source := &gardencorev1beta1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.Shoot.Namespace}}
	err = patch.CreateFirst(ctx, b.Garden, source, func(s *gardencorev1beta1.BackupEntry) error {
		if s.DeletionTimestamp != nil {
			return errGoing
		}
		if s.ResourceVersion == "" {
			controllerutil.AddFinalizer(s, constants.GardenerFinalizer) // as its controller would, which has it by then
		}
		b.own(s)
		s.Spec.BucketName, s.Spec.SeedName, s.Spec.ShootRef = bucket, ptr.To(b.SeedName), entry.Spec.ShootRef
		return nil
	})
	switch {
	case errors.Is(err, errGoing):
		// A destination before this one deletes it: it goes, whatever is written to it, and what it led to with it. If that
		// was left by force, its deletion is this seed's by now (migration.adoptBackups).
		if err := b.waitEntryGone(ctx, source); err != nil {
			return err
		}
		return b.DeploySource(ctx)
	case err != nil:
		return err
	}
	return b.waitEntry(ctx, name)
}

// errGoing says that nothing is written to an entry that is being deleted.
var errGoing = errors.New("the entry is being deleted")

// DestroySource deletes the way to the old bucket, and with it the backups there, unless they are the
// shoot's own: a way to this seed's bucket is left when the shoot has come back before they were copied. It comes after
// the new etcd is ready, never before.
func (b *Backups) DestroySource(ctx context.Context) error {
	name := backupentry.SourcePrefix + b.BackupEntryName()
	entry, err := b.entries.GetNamed(ctx, name)
	if err != nil || entry == nil {
		return err
	}
	if err := patch.Object(ctx, b.Garden, entry, func() {
		metav1.SetMetaDataAnnotation(&entry.ObjectMeta, constants.ConfirmationDeletion, "true")
		metav1.SetMetaDataAnnotation(&entry.ObjectMeta, constants.BackupEntryForceDeletion, "true")
	}); client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := objects.Remove(ctx, b.Garden, entry); err != nil {
		return err
	}
	return b.waitEntryGone(ctx, entry)
}

// Delete deletes the shoot's BackupEntries, and the backups with them.
func (b *Backups) Delete(ctx context.Context) error {
	if err := b.DestroySource(ctx); err != nil {
		return err
	}
	entry, err := b.entries.Get(ctx)
	if err != nil || entry == nil {
		return err
	}
	if holder := ptr.Deref(entry.Spec.SeedName, b.SeedName); holder != b.SeedName {
		return fmt.Errorf("backup entry %q is seed %q's: it is not deleted from here", entry.Name, holder)
	}
	before := entry.DeepCopy()
	metav1.SetMetaDataAnnotation(&entry.ObjectMeta, constants.ConfirmationDeletion, "true")
	// The lock is also for an entry that stays: another seed may have adopted it since it was read.
	if err := b.Garden.Patch(ctx, entry, patch.AsRead(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("confirm the deletion of backup entry %q: %w", entry.Name, err)
	}
	if err := objects.Remove(ctx, b.Garden, entry); err != nil {
		return err
	}
	return b.waitEntryGone(ctx, entry)
}

// waitEntryGone passes on what its seed says of the deletion when time is up.
func (b *Backups) waitEntryGone(ctx context.Context, entry *gardencorev1beta1.BackupEntry) error {
	return b.AwaitEntry(ctx, entry.Name, 10*time.Minute, fmt.Sprintf("the deletion of backup entry %q", entry.Name),
		func(ctx context.Context, garden client.Reader) error {
			err := objects.GoneFrom(ctx, garden, b.Garden.Scheme(), entry)
			if lastError := entry.Status.LastError; err != nil && lastError != nil {
				return &errorcodes.Error{Message: lastError.Description, Codes: lastError.Codes}
			}
			return err
		})
}
