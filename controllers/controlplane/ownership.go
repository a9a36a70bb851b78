package controlplane

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// ownerLeaseName is the Lease in the project namespace that is the claim (docs/ownership.md#spec-9-1).
func (o *Operation) ownerLeaseName() string { return OwnerLease(o.Shoot.Name) }

// OwnerLease is the name of the Lease that is the claim of a shoot (docs/ownership.md#spec-9-1).
func OwnerLease(shoot string) string { return "owner." + shoot }

// ownerRecordName is the DNS TXT record that is the decision (docs/ownership.md#spec-9-1).
func (o *Operation) ownerRecordName() string {
	return fmt.Sprintf("owner.%s.%s.%s", o.Shoot.Name, o.project(), o.InternalDomain)
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
		if err := here.refuseForeign(ctx); err != nil {
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
