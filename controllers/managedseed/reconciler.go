// Package managedseed makes Seeds of shoots (docs/specification/nodes-and-seeds.md#spec-7-7). It runs in the
// garden-controller-manager. It deploys no gardenlet, and decides nothing about shoots: admission protects those that
// are seeds, and placement knows which seed hosts which.
package managedseed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// fieldOwner owns what the Seed has from a ManagedSeed. Nobody's fields are taken away: a conflict is reported.
const fieldOwner = client.FieldOwner("managedseed")

// Reasons of the condition SeedRegistered.
const (
	reasonRegistered   = "SeedRegistered"
	reasonShootMissing = "ShootMissing"
	reasonShootUnready = "ShootNotReady"
	reasonNoSeed       = "SeedMissing"
	reasonRefused      = "SeedRefused"
	reasonInUse        = "SeedInUse"
	reasonInDeletion   = "SeedInDeletion"
)

// maxNamed is how many shoots a message names at most.
const maxNamed = 10

// Reconciler keeps a Seed for each ManagedSeed with a gardenlet, and deletes it with the ManagedSeed.
type Reconciler struct {
	// Garden is the cached client of the manager: what it has not seen yet wakes it again.
	Garden client.Client
	Clock  clock.PassiveClock
	// Retry is when to try again what no watch wakes: a refused Seed, and a Seed that still has shoots.
	Retry time.Duration
}

// Reconcile keeps the Seed of one ManagedSeed, and its condition SeedRegistered.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	managed := &seedmanagementv1alpha1.ManagedSeed{}
	if err := r.Garden.Get(ctx, request.NamespacedName, managed); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	seed, err := r.seed(ctx, managed.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if managed.DeletionTimestamp != nil {
		return r.unregister(ctx, managed, seed)
	}
	if !controllerutil.ContainsFinalizer(managed, constants.GardenerFinalizer) {
		err := patch.LockedObject(ctx, r.Garden, managed, func() {
			controllerutil.AddFinalizer(managed, constants.GardenerFinalizer)
		})
		if err != nil {
			return reconcile.Result{}, err
		}
	}
	return r.register(ctx, managed, seed)
}

// seed reads a Seed; nil if there is none.
func (r *Reconciler) seed(ctx context.Context, name string) (*gardencorev1beta1.Seed, error) {
	seed := &gardencorev1beta1.Seed{}
	err := r.Garden.Get(ctx, client.ObjectKey{Name: name}, seed)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Seed %q: %w", name, err)
	}
	return seed, nil
}

// register makes the Seed once the shoot is there, and keeps it as the ManagedSeed says. A Seed that is there stays,
// however its shoot is.
func (r *Reconciler) register(ctx context.Context, managed *seedmanagementv1alpha1.ManagedSeed,
	seed *gardencorev1beta1.Seed) (reconcile.Result, error) {
	wanted, unread := managed.Seed()
	if unread != nil {
		return reconcile.Result{}, r.report(ctx, managed, reasonRefused, unread.Error())
	}
	if seed == nil {
		reason, why, err := r.waitsFor(ctx, managed)
		if err != nil {
			return reconcile.Result{}, err
		}
		if reason != "" {
			return reconcile.Result{}, r.report(ctx, managed, reason, why)
		}
	}
	if wanted == nil {
		if seed == nil {
			return reconcile.Result{}, r.report(ctx, managed, reasonNoSeed,
				"spec.gardenlet is not set, so an operator has to create the Seed, and has not done so.")
		}
		return reconcile.Result{}, r.report(ctx, managed, reasonRegistered, "An operator has created the Seed.")
	}
	err := r.Garden.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), fieldOwner)
	switch {
	case err == nil:
		return reconcile.Result{}, r.report(ctx, managed, reasonRegistered, "The Seed is as spec.gardenlet.config says.")
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsConflict(err), apierrors.IsBadRequest(err):
		return reconcile.Result{RequeueAfter: r.Retry}, r.report(ctx, managed, reasonRefused, err.Error())
	}
	return reconcile.Result{}, fmt.Errorf("apply Seed %q: %w", managed.Name, err)
}

// waitsFor is why the shoot cannot be a seed yet, if it cannot.
func (r *Reconciler) waitsFor(ctx context.Context, managed *seedmanagementv1alpha1.ManagedSeed) (reason, why string,
	err error) {
	shoot := &gardencorev1beta1.Shoot{}
	err = r.Garden.Get(ctx, client.ObjectKey{Namespace: managed.Namespace, Name: managed.Spec.Shoot.Name}, shoot)
	switch {
	case apierrors.IsNotFound(err):
		return reasonShootMissing, fmt.Sprintf("There is no Shoot %q in the namespace of the ManagedSeed.",
			managed.Spec.Shoot.Name), nil
	case err != nil:
		return "", "", fmt.Errorf("read Shoot %q: %w", managed.Spec.Shoot.Name, err)
	case isReady(shoot):
		return "", "", nil
	}
	last := "none"
	if operation := shoot.Status.LastOperation; operation != nil {
		last = fmt.Sprintf("%s %s", operation.Type, operation.State)
	}
	return reasonShootUnready, fmt.Sprintf("The Seed is created when the last operation of Shoot %q has succeeded; "+
		"it is: %s.", shoot.Name, last), nil
}

// isReady reports whether a shoot has a control plane that was built successfully, and keeps it.
func isReady(shoot *gardencorev1beta1.Shoot) bool {
	last := shoot.Status.LastOperation
	if last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded || shoot.DeletionTimestamp != nil {
		return false
	}
	return last.Type != gardencorev1beta1.LastOperationTypeMigrate &&
		last.Type != gardencorev1beta1.LastOperationTypeDelete
}

// unregister deletes the Seed, waits until it is gone, and lets the ManagedSeed go. A Seed with shoots is not deleted:
// admission would refuse it, so it is not asked.
func (r *Reconciler) unregister(ctx context.Context, managed *seedmanagementv1alpha1.ManagedSeed,
	seed *gardencorev1beta1.Seed) (reconcile.Result, error) {
	switch {
	case !controllerutil.ContainsFinalizer(managed, constants.GardenerFinalizer):
		return reconcile.Result{}, nil
	case seed == nil:
		return reconcile.Result{}, client.IgnoreNotFound(patch.LockedObject(ctx, r.Garden, managed, func() {
			controllerutil.RemoveFinalizer(managed, constants.GardenerFinalizer)
		}))
	case seed.DeletionTimestamp != nil:
		return reconcile.Result{}, r.report(ctx, managed, reasonInDeletion, "The Seed is being deleted.")
	}
	again := reconcile.Result{RequeueAfter: r.Retry}
	users, err := r.shootsOf(ctx, seed.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(users) > 0 {
		why := fmt.Sprintf("The Seed has %d shoots; move or delete them: %s.", len(users),
			strings.Join(users[:min(len(users), maxNamed)], ", "))
		return again, r.report(ctx, managed, reasonInUse, why)
	}
	err = r.Garden.Delete(ctx, seed, client.Preconditions{UID: &seed.UID})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsConflict(err): // a shoot came meanwhile, or another Seed
		return again, r.report(ctx, managed, reasonInUse, err.Error())
	case client.IgnoreNotFound(err) != nil:
		return reconcile.Result{}, fmt.Errorf("delete Seed %q: %w", seed.Name, err)
	}
	return reconcile.Result{}, r.report(ctx, managed, reasonInDeletion, "The Seed is being deleted.")
}

// shootsOf are the shoots that a seed has or is to have, in order.
func (r *Reconciler) shootsOf(ctx context.Context, seed string) ([]string, error) {
	shoots := &gardencorev1beta1.ShootList{}
	if err := r.Garden.List(ctx, shoots); err != nil {
		return nil, fmt.Errorf("list the shoots: %w", err)
	}
	var users []string
	for i := range shoots.Items {
		shoot := &shoots.Items[i]
		if ptr.Deref(shoot.Spec.SeedName, "") == seed || ptr.Deref(shoot.Status.SeedName, "") == seed {
			users = append(users, client.ObjectKeyFromObject(shoot).String())
		}
	}
	slices.Sort(users)
	return users, nil
}

// report sets the condition SeedRegistered: True with its own reason, otherwise False. Times change only with what they
// are times of.
func (r *Reconciler) report(ctx context.Context, managed *seedmanagementv1alpha1.ManagedSeed, reason,
	message string) error {
	status := gardencorev1beta1.ConditionFalse
	if reason == reasonRegistered {
		status = gardencorev1beta1.ConditionTrue
	}
	now := metav1.NewTime(r.Clock.Now())
	return patch.LockedStatus(ctx, r.Garden, managed, func() {
		managed.Status.ObservedGeneration = managed.Generation
		conditions := &managed.Status.Conditions
		i := slices.IndexFunc(*conditions, func(c gardencorev1beta1.Condition) bool {
			return c.Type == seedmanagementv1alpha1.ManagedSeedSeedRegistered
		})
		if i < 0 {
			i = len(*conditions)
			*conditions = append(*conditions, gardencorev1beta1.Condition{
				Type: seedmanagementv1alpha1.ManagedSeedSeedRegistered,
			})
		}
		c := &(*conditions)[i]
		if c.Status != status {
			c.LastTransitionTime = now
		}
		if c.Status != status || c.Reason != reason || c.Message != message {
			c.Status, c.Reason, c.Message, c.LastUpdateTime = status, reason, message, now
		}
	})
}
