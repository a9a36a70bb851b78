package controlplane

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// ownerLeaseName is the Lease in the project namespace that is the claim (docs/ownership.md#spec-9-1).
func (o *Operation) ownerLeaseName() string { return OwnerLease(o.Shoot.Name) }

// OwnerLease is the name of the Lease that is the claim of a shoot (docs/ownership.md#spec-9-1).
func OwnerLease(shoot string) string { return "owner." + shoot }

// ownerRecordName is the DNS TXT record that is the decision (docs/ownership.md#spec-9-1).
func (o *Operation) ownerRecordName() string {
	return fmt.Sprintf("owner.%s.%s.%s", o.Shoot.Name, o.project(), o.InternalDomain)
}

// Survey reads what this seed has of the shoot.
func (o *Operation) Survey(ctx context.Context) (tenure.Tenure, error) {
	etcd := &appsv1.StatefulSet{}
	err := o.Seed.Get(ctx, o.key(EtcdName), etcd)
	if apierrors.IsNotFound(err) {
		etcd = nil
	} else if err != nil {
		return tenure.Tenure{}, fmt.Errorf("read etcd: %w", err)
	}
	namespace, err := o.namespace(ctx)
	if apierrors.IsNotFound(err) {
		namespace = nil
	} else if err != nil {
		return tenure.Tenure{}, fmt.Errorf("read namespace %q: %w", o.Namespace(), err)
	}
	return tenure.Of(namespace, etcd)
}

// HoldOwnership makes this seed the owner of the shoot, or finds that it is, and notes the epoch (docs/ownership.md#o5,
// docs/ownership.md#o6). It waits for the final snapshot of the epoch it replaces, or until that epoch has surely
// ended.
//
// Only a restore takes a shoot from another seed. A garden that went back to a backup may say otherwise; DNS is right.
func (o *Operation) HoldOwnership(ctx context.Context) error {
	here, err := o.Survey(ctx)
	if err != nil {
		return err
	}
	if !o.Restoring() {
		if err := o.refuseForeign(ctx); err != nil {
			return err
		}
	}
	t := o.takeover
	t.Owner, t.Seed = string(o.SeedObject.UID), o.SeedName
	t.Claim = o.Owners.Claim(o.Shoot.Namespace, o.ownerLeaseName())
	t.Decision = o.Owners.Decision(o.ownerRecordName())
	t.Clock = o.Boottime
	t.Timing = ownership.Timing{Interval: o.OwnerCheckInterval, Timeout: o.OwnerCheckTimeout}
	t.BoundTo, t.FinalSnapshot = o.boundTo, o.HasFinalSnapshot
	t.Started, t.Ended = here.Etcd.Epoch, here.EndedEpoch
	o.Epoch, err = t.Run(ctx)
	return err
}

// refuseForeign is an error if DNS gives the shoot to another seed that exists.
func (o *Operation) refuseForeign(ctx context.Context) error {
	record, err := o.decision(ctx)
	if err != nil {
		return err
	}
	if record.Absent() || record.Retired() || record.Owner == string(o.SeedObject.UID) {
		return nil
	}
	seeds := &gardencorev1beta1.SeedList{}
	if err := o.Garden.List(ctx, seeds); err != nil {
		return fmt.Errorf("look for the owner of the shoot: %w", err)
	}
	for _, seed := range seeds.Items {
		if string(seed.UID) == record.Owner {
			return fmt.Errorf("the shoot is seed %q's, by its record in DNS with epoch %d: it is not taken from there "+
				"without a migration", seed.Name, record.Epoch)
		}
	}
	return nil // its owner is no more
}

// decision is the record in DNS.
func (o *Operation) decision(ctx context.Context) (ownership.Record, error) {
	record, _, err := o.Owners.Decision(o.ownerRecordName()).Read(ctx)
	if err != nil {
		return ownership.Record{}, fmt.Errorf("ask who owns the shoot: %w", err)
	}
	return record, nil
}

// Misplaced reports whether the control plane of a shoot that has been created is not on this seed, although this seed
// is responsible: the seed was built anew, or lost its data. To go on as if the shoot were new would give it another
// identity; it has to be restored.
func (o *Operation) Misplaced(ctx context.Context) (bool, error) {
	here, err := o.Survey(ctx)
	if err != nil || here.Etcd.Exists {
		return false, err
	}
	if o.Shoot.DeletionTimestamp == nil {
		return true, nil
	}
	// In the middle of a deletion etcd may be gone already; the namespace goes last, long after the saved state.
	if here.Namespace {
		return false, nil
	}
	_, err = o.States.Load(ctx, client.ObjectKeyFromObject(o.Shoot))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if _, damaged := errors.AsType[*shootstate.DamagedError](err); damaged {
		return true, nil // what is to be done without it, if anything, is for the restore to say
	}
	return err == nil, err
}

// AskForRestore lets the shoot be restored on the seed that it is bound to.
func (o *Operation) AskForRestore(ctx context.Context, why string) error {
	before := o.Shoot.DeepCopy()
	metav1.SetMetaDataAnnotation(&o.Shoot.ObjectMeta, constants.ShootForceRestore, constants.LabelTrue)
	status := *o.Shoot.Status.DeepCopy()
	if err := o.Garden.Patch(ctx, o.Shoot,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("ask for the restore of shoot %q: %w", client.ObjectKeyFromObject(o.Shoot), err)
	}
	o.Shoot.Status = status
	return o.patchStatus(ctx, true, func(status *gardencorev1beta1.ShootStatus) {
		status.LastErrors, status.RetryCycleStartTime = nil, nil
		status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationTypeMigrate, State: gardencorev1beta1.LastOperationStateAborted,
			Description: why, LastUpdateTime: metav1.NewTime(o.Clock.Now()),
		}
	})
}

// HasFinalSnapshot reports whether the epoch has ended with a final snapshot (docs/ownership.md#o3,
// docs/ownership.md#o6).
func (o *Operation) HasFinalSnapshot(ctx context.Context, epoch int64) (bool, error) {
	entry, err := o.BackupEntry(ctx)
	if err != nil || entry == nil {
		return false, err
	}
	return o.Bucket.HasFinalSnapshot(ctx, entry.Spec.BucketName, o.BackupPrefix(), epoch)
}

// UnsavedEpoch is the epoch of this seed's etcd, if that is to run and may have what somebody needs and no backup has;
// else zero: it does not run, its final snapshot is there, or a newer epoch has begun, which does not start from it any
// more.
func (o *Operation) UnsavedEpoch(ctx context.Context, etcd tenure.Etcd) (int64, error) {
	if !etcd.Runs {
		return 0, nil
	}
	buckets := sets.New(o.BucketName())
	for _, read := range []func(context.Context) (*gardencorev1beta1.BackupEntry, error){o.BackupEntry, o.SourceBackupEntry} {
		entry, err := read(ctx)
		if err != nil {
			return 0, err
		}
		if entry != nil {
			buckets.Insert(entry.Spec.BucketName)
		}
	}
	for _, bucket := range sets.List(buckets) {
		superseded, err := o.Bucket.Superseded(ctx, bucket, o.BackupPrefix(), etcd.Epoch)
		if err != nil {
			return 0, fmt.Errorf("look for newer epochs in bucket %q: %w", bucket, err)
		}
		if superseded {
			return 0, nil
		}
	}
	saved, err := o.Bucket.HasFinalSnapshot(ctx, o.BucketName(), o.BackupPrefix(), etcd.Epoch)
	if err != nil {
		return 0, fmt.Errorf("look for the final snapshot of epoch %d: %w", etcd.Epoch, err)
	}
	if saved {
		return 0, nil
	}
	return etcd.Epoch, nil
}

func (o *Operation) boundTo(ctx context.Context) (string, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := o.Garden.Get(ctx, client.ObjectKeyFromObject(o.Shoot), shoot); err != nil {
		return "", err
	}
	return ptr.Deref(shoot.Spec.SeedName, ""), nil
}

// ReleaseOwnership gives a shoot that has ceased to exist to nobody, and removes the claim afterwards, so that a crash
// between the two leaves no owner rather than one. The decision stays (docs/adr/0005).
func (o *Operation) ReleaseOwnership(ctx context.Context) error {
	if err := ownership.Retire(ctx, o.Owners.Decision(o.ownerRecordName()), string(o.SeedObject.UID)); err != nil {
		return err
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: o.ownerLeaseName(), Namespace: o.Shoot.Namespace}}
	return remove(ctx, o.Garden, lease)
}
