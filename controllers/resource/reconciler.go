package resource

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Reconciler looks after the ManagedResources of one class: those of one shoot, or those of a seed.
type Reconciler struct {
	// Class is that of the ManagedResources. Those of the shoot have none.
	Class string
	// Source is the seed, read uncached; Target is where the objects are to be: the shoot, or the seed itself.
	Source, Target client.Client
	Clock          clock.PassiveClock
	// SyncPeriod is how often the objects are applied again when nothing wakes; it bounds one round, too.
	SyncPeriod time.Duration
	// PollPeriod is how often objects are looked at that are being deleted or are not healthy yet.
	PollPeriod time.Duration
}

var _ reconcile.Reconciler = &Reconciler{}

// Reconcile brings the shoot, or the seed, to what a ManagedResource says.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	managed := &resourcesv1alpha1.ManagedResource{}
	if err := r.Source.Get(ctx, request.NamespacedName, managed); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	ctx, cancel := context.WithTimeout(ctx, r.SyncPeriod)
	defer cancel()
	mine := controllerutil.ContainsFinalizer(managed, r.finalizer())
	foreign := ptr.Deref(managed.Spec.Class, "") != r.Class
	switch {
	case foreign && !mine:
		return reconcile.Result{}, nil
	case managed.DeletionTimestamp == nil && isTrue(managed.Annotations, resourcesv1alpha1.Ignore):
		return reconcile.Result{}, r.ignore(ctx, managed)
	case managed.DeletionTimestamp != nil || foreign:
		if !mine {
			return reconcile.Result{}, nil
		}
		return r.remove(ctx, managed)
	case r.ownedByAnotherClass(managed):
		// Whoever had it before takes its objects away first.
		return reconcile.Result{RequeueAfter: r.PollPeriod}, nil
	}
	if !mine {
		if err := patch.LockedObject(ctx, r.Source, managed, func() {
			controllerutil.AddFinalizer(managed, r.finalizer())
		}); err != nil {
			return reconcile.Result{}, err
		}
	}
	return r.reconcile(ctx, managed)
}

// finalizer is that of the class (docs/specification/api.md#spec-1-10).
func (r *Reconciler) finalizer() string {
	if r.Class == "" {
		return constants.FinalizerManagedResource
	}
	return constants.FinalizerManagedResource + "-" + r.Class
}

// owner is the name under which the objects are applied.
func (r *Reconciler) owner() client.FieldOwner {
	if r.Class == "" {
		return FieldOwner
	}
	return FieldOwnerInSeed
}

// ownedByAnotherClass reports whether the resource manager of another class has not released it yet.
func (r *Reconciler) ownedByAnotherClass(managed *resourcesv1alpha1.ManagedResource) bool {
	return slices.ContainsFunc(managed.Finalizers, func(f string) bool {
		return f != r.finalizer() && (f == constants.FinalizerManagedResource ||
			strings.HasPrefix(f, constants.FinalizerManagedResource+"-"))
	})
}

func (r *Reconciler) ignore(ctx context.Context, managed *resourcesv1alpha1.ManagedResource) error {
	const message = "The ManagedResource is marked to be ignored."
	return r.patchStatus(ctx, managed, func(status *resourcesv1alpha1.ManagedResourceStatus) {
		r.setConditions(status,
			applied(gardencorev1beta1.ConditionTrue, reasonIgnored, message),
			healthy(gardencorev1beta1.ConditionTrue, reasonIgnored, message),
			progressing(gardencorev1beta1.ConditionFalse, reasonIgnored, message))
	})
}

// reconcile applies what the Secrets hold. What was applied earlier and is not there any more is deleted, unless a
// document could not be read: it may be the one that holds it.
func (r *Reconciler) reconcile(ctx context.Context, managed *resourcesv1alpha1.ManagedResource) (reconcile.Result,
	error) {
	generation := managed.Generation // a later answer may bring a newer one, whose manifests were not read
	read, err := r.readManifests(ctx, managed)
	if err != nil {
		return reconcile.Result{}, r.fail(ctx, managed, reasonCannotReadSecret, err)
	}
	w, err := r.prepare(managed, read.objects)
	if err != nil {
		return reconcile.Result{}, r.fail(ctx, managed, reasonApplyFailed, err)
	}
	same, wanted := equivalencesOf(managed), references(w.wanted)
	stale := same.without(managed.Status.Resources, append(references(w.released), wanted...))
	if err := r.announce(ctx, managed, read.checksum, wanted, stale); err != nil {
		return reconcile.Result{}, err
	}
	round := outcome{generation: generation, wanted: wanted, checksum: read.checksum, undecodable: read.undecodable}
	if len(read.undecodable) > 0 {
		round.kept = stale
	} else {
		var gone pruned
		gone, round.pruning = r.prune(ctx, managed, stale)
		round.kept, round.refused = gone.left, gone.failed
	}
	round.releasing = r.release(ctx, managed, w.released)
	round.applying = errors.Join(append(w.failures, r.apply(ctx, managed, w.wanted))...)
	return r.conclude(ctx, managed, round, w)
}

// announce writes what will be in the shoot before anything of it is: whoever deletes the ManagedResource after a crash
// finds all objects.
func (r *Reconciler) announce(ctx context.Context, managed *resourcesv1alpha1.ManagedResource, checksum string, wanted,
	stale []resourcesv1alpha1.ObjectReference) error {
	all := sorted(append(slices.Clone(wanted), stale...))
	if ptr.Deref(managed.Status.SecretsDataChecksum, "") == checksum &&
		equality.Semantic.DeepEqual(managed.Status.Resources, all) {
		return nil
	}
	return r.patchStatus(ctx, managed, func(status *resourcesv1alpha1.ManagedResourceStatus) {
		status.Resources = all
		const pending = "The checks have not been made for the present set of resources."
		r.setConditions(status, healthy(gardencorev1beta1.ConditionUnknown, reasonChecksPending, pending),
			progressing(gardencorev1beta1.ConditionUnknown, reasonChecksPending, pending))
		if !failing(status.Conditions) {
			r.setConditions(status, applied(gardencorev1beta1.ConditionProgressing, reasonApplyProgressing,
				"The resources are being applied."))
		}
	})
}

// fail writes why nothing was applied, and returns it.
func (r *Reconciler) fail(ctx context.Context, managed *resourcesv1alpha1.ManagedResource, reason string,
	cause error) error {
	return errors.Join(cause, r.patchStatus(ctx, managed, func(status *resourcesv1alpha1.ManagedResourceStatus) {
		r.setConditions(status, applied(gardencorev1beta1.ConditionFalse, reason, cause.Error()))
	}))
}
