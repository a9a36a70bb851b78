package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// ErrNoBackups says that a bucket has nothing that could be restored.
var ErrNoBackups = backup.ErrNoBackups

// Buckets gives access to backups while a control plane is being restored.
type Buckets interface {
	// Copy copies what the epoch starts from below prefix from one bucket to the other, and fixes it there; both may be
	// the same. It may be repeated. With lastGood, what is damaged is left out, and what would have continued it; leftOut
	// names it.
	Copy(ctx context.Context, from, to, prefix string, epoch int64, lastGood bool) (leftOut []string, err error)
	// Check returns why the backups below prefix cannot be restored, with ErrNoBackups if there are none; nil if they can.
	Check(ctx context.Context, bucket, prefix string) error
	// Readable returns what is damaged, if with lastGood Copy would find nothing to begin with.
	Readable(ctx context.Context, bucket, prefix string) error
	// Purge removes all objects below prefix.
	Purge(ctx context.Context, bucket, prefix string) error
	// Superseded reports whether a newer epoch than this one has begun: what this one uploads belongs to no chain any
	// more.
	Superseded(ctx context.Context, bucket, prefix string, epoch int64) (bool, error)
	// HasFinalSnapshot reports whether the final snapshot of the epoch is below prefix.
	HasFinalSnapshot(ctx context.Context, bucket, prefix string, epoch int64) (bool, error)
}

// ReasonBackupDamaged is the reason of the event that says what a forced restore could not bring back.
const ReasonBackupDamaged = "BackupDamaged"

// sourcePrefix marks the copy of a BackupEntry that gives access to the bucket the shoot comes from.
const sourcePrefix = "source-"

// BucketName is the name of this seed's BackupBucket: the UID of the Seed (docs/specification/api.md#spec-1-7).
func (o *Operation) BucketName() string { return string(o.SeedObject.UID) }

// BackupPrefix is where the backups of the shoot's etcd are, in every bucket.
func (o *Operation) BackupPrefix() string { return o.BackupEntryName() + "/" + EtcdName }

// BackupEntry reads the shoot's BackupEntry from the garden; nil if there is none.
func (o *Operation) BackupEntry(ctx context.Context) (*gardencorev1beta1.BackupEntry, error) {
	return o.backupEntry(ctx, o.BackupEntryName())
}

// SourceBackupEntry reads the way to the bucket that the shoot comes from; nil if there is none.
func (o *Operation) SourceBackupEntry(ctx context.Context) (*gardencorev1beta1.BackupEntry, error) {
	return o.backupEntry(ctx, sourcePrefix+o.BackupEntryName())
}

func (o *Operation) backupEntry(ctx context.Context, name string) (*gardencorev1beta1.BackupEntry, error) {
	entry := &gardencorev1beta1.BackupEntry{}
	err := o.Garden.Get(ctx, client.ObjectKey{Namespace: o.Shoot.Namespace, Name: name}, entry)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read backup entry %q: %w", name, err)
	}
	return entry, nil
}

// backupSource is the bucket that the shoot's etcd is restored from; empty if there is nothing to restore. Usually it
// is the one that the BackupEntry names. A destination that died half-way may have pointed it at its own bucket before
// anything was copied there: then the way to the bucket before that is still kept.
func (o *Operation) backupSource(ctx context.Context, here *Survey) (string, error) {
	if !o.Restoring() {
		return "", nil
	}
	restored, err := here.etcdRestored(ctx)
	if err != nil || restored {
		return "", err
	}
	entry, err := o.BackupEntry(ctx)
	if err != nil {
		return "", err
	}
	if entry == nil {
		return "", fmt.Errorf("backup entry %q is missing: there is nothing to restore etcd from", o.BackupEntryName())
	}
	source, err := o.SourceBackupEntry(ctx)
	if err != nil {
		return "", err
	}
	bucket := entry.Spec.BucketName
	if source != nil {
		// Our own last run has pointed the entry here, or another's has, without a copy: what counts is where the data is.
		if err := o.Bucket.Check(ctx, bucket, o.BackupPrefix()); bucket == o.BucketName() || errors.Is(err, ErrNoBackups) {
			bucket = source.Spec.BucketName
		} else if err != nil {
			return "", fmt.Errorf("look at the backups in bucket %q: %w", bucket, err)
		}
	}
	return bucket, nil
}

// CheckBackups makes sure that there is something to restore etcd from; of a restore by force that has not taken the
// shoot over yet, that it can be read (docs/ownership.md#spec-9-3). After that the copy finds what is damaged:
// it may have what it needs.
func (o *Operation) CheckBackups(ctx context.Context) error {
	here, err := o.Survey(ctx)
	if err != nil {
		return err
	}
	bucket, err := o.backupSource(ctx, here)
	if err != nil {
		return err
	}
	restored := bucket == ""
	if restored {
		bucket = o.BucketName()
	}
	if err := o.Bucket.Check(ctx, bucket, o.BackupPrefix()); err != nil {
		return fmt.Errorf("look at the backups in bucket %q: %w", bucket, err)
	}
	if restored || !Forced(o.Shoot) {
		return nil
	}
	whose, err := here.Whose(ctx)
	if err != nil || whose == tenure.Ours {
		return err
	}
	if err := o.Bucket.Readable(ctx, bucket, o.BackupPrefix()); err != nil {
		return fmt.Errorf("read the backups in bucket %q: %w", bucket, err)
	}
	return nil
}

// DeploySourceBackupEntry keeps the way to the old bucket open under another name before the BackupEntry is pointed
// at the new one, if they are not the same.
func (o *Operation) DeploySourceBackupEntry(ctx context.Context) error {
	here, err := o.Survey(ctx)
	if err != nil {
		return err
	}
	bucket, err := o.backupSource(ctx, here)
	if err != nil || bucket == "" || bucket == o.BucketName() {
		return err
	}
	last, err := o.SourceBackupEntry(ctx)
	if err != nil {
		return err
	}
	if last != nil && last.DeletionTimestamp != nil {
		// A destination before this one deletes it: it goes, whatever is written to it, and what it led to with it. If that
		// was left by force, its deletion is this seed's by now (migration.adoptBackups).
		if err := o.waitBackupEntryGone(ctx, last); err != nil {
			return err
		}
		return o.DeploySourceBackupEntry(ctx)
	}
	entry, err := o.BackupEntry(ctx)
	if err != nil {
		return err
	}
	name := sourcePrefix + o.BackupEntryName()
	source := &gardencorev1beta1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.Shoot.Namespace}}
	if err := createOrPatch(ctx, o.Garden, source, func(s *gardencorev1beta1.BackupEntry) error {
		o.ownBackupEntry(s)
		s.Spec.BucketName, s.Spec.SeedName, s.Spec.ShootRef = bucket, ptr.To(o.SeedName), entry.Spec.ShootRef
		return nil
	}); err != nil {
		return err
	}
	return o.waitBackupEntry(ctx, name)
}

// DeployBackupEntry points the shoot's BackupEntry at this seed and its bucket.
func (o *Operation) DeployBackupEntry(ctx context.Context) error {
	entry := &gardencorev1beta1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: o.BackupEntryName(),
		Namespace: o.Shoot.Namespace}}
	// A seed that was built anew under its name has the garden's entry, but not its extension's.
	absent := gone(ctx, o.Seed, &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: entry.Name}}) == nil
	return createOrPatch(ctx, o.Garden, entry, func(e *gardencorev1beta1.BackupEntry) error {
		if holder := ptr.Deref(e.Spec.SeedName, o.SeedName); holder != o.SeedName && !o.Restoring() {
			return fmt.Errorf("backup entry %q is seed %q's: it is not taken from there", e.Name, holder)
		}
		o.ownBackupEntry(e)
		last := e.Status.LastOperation
		handedOver := last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate
		if o.Restoring() && (e.Spec.BucketName != o.BucketName() || handedOver || absent) {
			metav1.SetMetaDataAnnotation(&e.ObjectMeta, constants.GardenerOperation, constants.GardenerOperationRestore)
		}
		e.Spec.BucketName, e.Spec.SeedName = o.BucketName(), ptr.To(o.SeedName)
		return nil
	})
}

func (o *Operation) ownBackupEntry(entry *gardencorev1beta1.BackupEntry) {
	entry.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot", Name: o.Shoot.Name, UID: o.Shoot.UID,
	}}
}

// WaitBackupEntry waits until the shoot's backups can be reached from this seed.
func (o *Operation) WaitBackupEntry(ctx context.Context) error {
	return o.waitBackupEntry(ctx, o.BackupEntryName())
}

func (o *Operation) waitBackupEntry(ctx context.Context, name string) error {
	return o.Until(ctx, 10*time.Minute, fmt.Sprintf("backup entry %q", name), func(ctx context.Context) error {
		entry, err := o.backupEntry(ctx, name)
		if err != nil {
			return err
		}
		if entry == nil {
			return errors.New("it does not exist")
		}
		return backupEntryReady(entry)
	})
}

func backupEntryReady(entry *gardencorev1beta1.BackupEntry) error {
	last := entry.Status.LastOperation
	switch {
	case entry.Status.LastError != nil:
		return &CodedError{Message: entry.Status.LastError.Description, Codes: entry.Status.LastError.Codes}
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

// CopyBackups copies the shoot's backups from the bucket of the seed it comes from. Where they are in this seed's own,
// etcd finds them by itself; but only a restore by force can do without some, and fixes before etcd looks what is left.
func (o *Operation) CopyBackups(ctx context.Context) error {
	here, err := o.Survey(ctx)
	if err != nil {
		return err
	}
	bucket, err := o.backupSource(ctx, here)
	if err != nil || bucket == "" || bucket == o.BucketName() && !Forced(o.Shoot) {
		return err
	}
	leftOut, err := o.Bucket.Copy(ctx, bucket, o.BucketName(), o.BackupPrefix(), o.Epoch, Forced(o.Shoot))
	if err != nil || len(leftOut) == 0 {
		return err
	}
	o.events.Event(o.Shoot, corev1.EventTypeWarning, ReasonBackupDamaged,
		fmt.Sprintf("These backups are damaged, or behind a damaged or missing one, and are left out; what only they had "+
			"is lost: %s", strings.Join(leftOut, ", ")))
	return nil
}

// DestroySourceBackupEntry deletes the way to the old bucket, and with it the backups there, unless they are the
// shoot's own: a way to this seed's bucket is left when the shoot has come back before they were copied. It comes after
// the new etcd is ready, never before.
func (o *Operation) DestroySourceBackupEntry(ctx context.Context) error {
	name := sourcePrefix + o.BackupEntryName()
	entry, err := o.backupEntry(ctx, name)
	if err != nil || entry == nil {
		return err
	}
	before := entry.DeepCopy()
	metav1.SetMetaDataAnnotation(&entry.ObjectMeta, constants.ConfirmationDeletion, "true")
	metav1.SetMetaDataAnnotation(&entry.ObjectMeta, constants.BackupEntryForceDeletion, "true")
	if err := o.Garden.Patch(ctx, entry, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("confirm the deletion of backup entry %q: %w", name, err)
	}
	if err := remove(ctx, o.Garden, entry); err != nil {
		return err
	}
	return o.waitBackupEntryGone(ctx, entry)
}

// waitBackupEntryGone passes on what its seed says of the deletion when time is up.
func (o *Operation) waitBackupEntryGone(ctx context.Context, entry *gardencorev1beta1.BackupEntry) error {
	return o.Until(ctx, 10*time.Minute, fmt.Sprintf("the deletion of backup entry %q", entry.Name),
		func(ctx context.Context) error {
			err := gone(ctx, o.Garden, entry)
			if lastError := entry.Status.LastError; err != nil && lastError != nil {
				return &CodedError{Message: lastError.Description, Codes: lastError.Codes}
			}
			return err
		})
}

// SourceOf is the name of the BackupEntry that the one with this name is the source of; empty if it is none's.
func SourceOf(name string) string {
	if of, source := strings.CutPrefix(name, sourcePrefix); source {
		return of
	}
	return ""
}

// NamespaceOfBackupEntry is the control-plane namespace of the shoot that a BackupEntry, or the source of one, is for.
func NamespaceOfBackupEntry(name string) string {
	name = strings.TrimPrefix(name, sourcePrefix)
	if i := strings.LastIndex(name, "--"); i > 0 {
		return name[:i]
	}
	return name
}
