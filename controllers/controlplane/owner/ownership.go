package owner

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Ownership of one shoot, as this seed has it.
type Ownership struct {
	*scope.Scope
	entries *backupentry.Entries
	status  *run.Status
}

// New makes it over a scope.
func New(s *scope.Scope) *Ownership {
	return &Ownership{Scope: s, entries: &backupentry.Entries{Scope: s}, status: &run.Status{Scope: s}}
}

// Hold makes this seed the owner of the shoot, or finds that it is, and notes the epoch (docs/ownership.md#o5,
// docs/ownership.md#o6). It waits for the final snapshot of the epoch it replaces, or until that epoch has surely
// ended.
//
// Only a restore takes a shoot from another seed. A garden that went back to a backup may say otherwise; DNS is right.
func (o *Ownership) Hold(ctx context.Context) error {
	here, err := o.Survey(ctx)
	if err != nil {
		return err
	}
	if !o.Restoring() {
		if err := here.refuseForeign(ctx); err != nil {
			return err
		}
	}
	t := o.Takeover
	t.Owner, t.Seed = string(o.SeedObject.UID), o.SeedName
	t.Claim = o.Owners.Claim(o.Shoot.Namespace, o.OwnerLeaseName())
	t.Decision = o.Owners.Decision(o.OwnerRecordName())
	t.Clock = o.Boottime
	t.Timing = ownership.Timing{Interval: o.OwnerCheckInterval, Timeout: o.OwnerCheckTimeout}
	t.BoundTo, t.FinalSnapshot = o.boundTo, o.entries.FinalSnapshots()
	t.Started, t.Ended = here.Etcd.Epoch, 0
	if here.Phase >= tenure.Ended {
		t.Ended = here.Epoch
	}
	o.Epoch, err = t.Run(ctx)
	return err
}

// Misplaced reports whether the control plane of a shoot that has been created is not on this seed, although this seed
// is responsible: the seed was built anew, or lost its data. To go on as if the shoot were new would give it another
// identity; it has to be restored. If DNS gives the shoot to another seed that exists, the garden is older than DNS:
// that is a ForeignError.
func (o *Ownership) Misplaced(ctx context.Context) (bool, error) {
	here, err := o.Survey(ctx)
	if err != nil {
		return false, err
	}
	asked := tenure.Reconcile
	if o.Shoot.DeletionTimestamp != nil {
		// In the middle of a deletion etcd may be gone already; the namespace goes last, long after the saved state.
		asked = tenure.Delete
	}
	if here.Tenure.Next(asked) != tenure.AskForRestore {
		return false, nil
	}
	if err := here.checkElsewhere(ctx); err != nil {
		return false, err
	}
	if asked == tenure.Reconcile {
		return true, nil
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
func (o *Ownership) AskForRestore(ctx context.Context, why string) error {
	before := o.Shoot.DeepCopy()
	metav1.SetMetaDataAnnotation(&o.Shoot.ObjectMeta, constants.ShootForceRestore, constants.LabelTrue)
	status := *o.Shoot.Status.DeepCopy()
	if err := o.Garden.Patch(ctx, o.Shoot, patch.AsRead(before)); err != nil {
		return fmt.Errorf("ask for the restore of shoot %q: %w", client.ObjectKeyFromObject(o.Shoot), err)
	}
	o.Shoot.Status = status
	return o.status.PatchAsRead(ctx, true, func(status *gardencorev1beta1.ShootStatus) {
		status.LastErrors, status.RetryCycleStartTime = nil, nil
		status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationTypeMigrate, State: gardencorev1beta1.LastOperationStateAborted,
			Description: why, LastUpdateTime: metav1.NewTime(o.Clock.Now()),
		}
	})
}

// boundTo is the seed in spec.seedName. A shoot that an operator runs outside any seed is bound to none until he
// hands it over by force: a gardenlet that stood still in a restore meanwhile does not go on with it.
func (o *Ownership) boundTo(ctx context.Context) (string, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := o.Garden.Get(ctx, client.ObjectKeyFromObject(o.Shoot), shoot); err != nil {
		return "", err
	}
	if has := ptr.Deref(shoot.Status.SeedName, ""); has == constants.SeedOutside && !lifecycle.Forced(shoot) {
		return has, nil
	}
	return ptr.Deref(shoot.Spec.SeedName, ""), nil
}

// Release gives a shoot that has ceased to exist to nobody, and removes the claim afterwards, so that a crash
// between the two leaves no owner rather than one. The decision stays (docs/adr/0005).
func (o *Ownership) Release(ctx context.Context) error {
	if err := ownership.Retire(ctx, o.Owners.Decision(o.OwnerRecordName()), string(o.SeedObject.UID)); err != nil {
		return err
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: o.OwnerLeaseName(), Namespace: o.Shoot.Namespace}}
	return objects.Remove(ctx, o.Garden, lease)
}

// Advance notes on the control-plane namespace how far the epoch has come here (docs/adr/0018-tenure.md). If somebody
// else writes an epoch between its own read and its write, it is an error, and nothing is written. It does not compare
// with what the flow has read before: if another epoch is noted there, or none, nothing is written, without an error.
func (o *Ownership) Advance(ctx context.Context, to tenure.Phase, epoch int64) error {
	err := PatchNamespace(ctx, o.Seed, o.Namespace(), func(here tenure.Tenure, namespace *corev1.Namespace) {
		here.Advance(namespace, to, epoch)
	})
	if err != nil {
		return fmt.Errorf("note on its namespace that the epoch is %s: %w", to, err)
	}
	return nil
}

// PatchNamespace brings a control-plane namespace to what shape makes of it, unless its epoch or the phase changes
// meanwhile to something else. It does not apply the namespace: an apply that leaves the epoch out would delete it.
func PatchNamespace(
	ctx context.Context, seed client.Client, name string, shape func(tenure.Tenure, *corev1.Namespace),
) error {
	var read, wanted *tenure.Tenure // by the attempt before
	return retry.RetryOnConflict(objects.ConflictBackoff, func() error {
		namespace := &corev1.Namespace{}
		if err := seed.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
			return fmt.Errorf("read namespace %q: %w", name, err)
		}
		here, err := tenure.Of(namespace, nil)
		if err != nil {
			return err
		}
		if read != nil && here != *read && here != *wanted {
			return fmt.Errorf("the epoch on namespace %q has changed meanwhile: %d %s, before %d %s",
				name, here.Epoch, here.Phase, read.Epoch, read.Phase)
		}
		before := namespace.DeepCopy()
		if shape(here, namespace); equality.Semantic.DeepEqual(before, namespace) {
			return nil
		}
		after, err := tenure.Of(namespace, nil)
		if err != nil {
			return err
		}
		read, wanted = &here, &after
		locked := patch.AsRead(before)
		return patch.Describe("patch", namespace, seed, seed.Patch(ctx, namespace, locked, objects.FieldOwner))
	})
}
