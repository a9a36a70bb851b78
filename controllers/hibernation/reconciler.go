// Package hibernation puts shoots to sleep and wakes them up by the schedules in their specification
// (docs/specification/care.md#spec-5-5, docs/specification/README.md#s4). It runs in the garden-controller-manager.
//
// It only switches spec.hibernation.enabled; how a shoot goes to sleep is package shoot's, and whether it may is
// decided by care.
package hibernation

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Reasons of events on shoots.
const (
	reasonHibernated = "Hibernated"
	reasonWokenUp    = "WokenUp"
	reasonRefused    = "HibernationHeldBack"
	reasonUnreadable = "HibernationScheduleInvalid"
)

// Reconciler acts on the schedules of shoots.
type Reconciler struct {
	// Garden is an uncached client.
	Garden client.Client
	Clock  clock.PassiveClock
	Events scope.Events
	// Retry is when to try again a hibernation that was refused.
	Retry time.Duration
}

// AddToManager adds the Reconciler to a manager on the garden.
func (r *Reconciler) AddToManager(mgr manager.Manager) error {
	scheduled := predicate.NewPredicateFuncs(func(object client.Object) bool {
		shoot, ok := object.(*gardencorev1beta1.Shoot)
		return ok && shoot.Spec.Hibernation != nil && len(shoot.Spec.Hibernation.Schedules) > 0
	})
	err := builder.ControllerManagedBy(mgr).Named("shoot-hibernation").
		For(&gardencorev1beta1.Shoot{}, builder.WithPredicates(scheduled, predicate.GenerationChangedPredicate{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add the controller of hibernation schedules: %w", err)
	}
	return nil
}

// errRefused says that a shoot must not be put to sleep now.
var errRefused = errors.New("the shoot is not put to sleep")

// Reconcile acts on the last moment of a shoot's schedules that it has not acted on yet, and comes back at the next.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Garden.Get(ctx, request.NamespacedName, shoot); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if shoot.DeletionTimestamp != nil || shoot.Spec.Hibernation == nil || len(shoot.Spec.Hibernation.Schedules) == 0 {
		return reconcile.Result{}, nil
	}
	plan, err := parse(shoot.Spec.Hibernation.Schedules)
	if err != nil {
		r.Events.Event(shoot, corev1.EventTypeWarning, reasonUnreadable, err.Error())
		return reconcile.Result{}, nil // its next change wakes us
	}
	now := r.Clock.Now()
	if due := plan.last(since(shoot, now), now); due != nil {
		err := r.act(ctx, shoot, due)
		if errors.Is(err, errRefused) {
			r.Events.Event(shoot, corev1.EventTypeWarning, reasonRefused, err.Error())
			return reconcile.Result{RequeueAfter: r.Retry}, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("act on the hibernation schedule of shoot %q: %w", request.NamespacedName, err)
		}
	}
	if next, found := plan.next(now); found {
		return reconcile.Result{RequeueAfter: next.Sub(now)}, nil
	}
	return reconcile.Result{}, nil
}

// since is after which moment triggers have not been acted on.
func since(shoot *gardencorev1beta1.Shoot, now time.Time) time.Time {
	after := now.Add(-Deadline)
	if created := shoot.CreationTimestamp.Time; created.After(after) {
		after = created
	}
	if last := shoot.Status.LastHibernationTriggerTime; last != nil && last.After(after) {
		after = last.Time
	}
	return after
}

// act switches the shoot and notes that it was done. A crash between the two switches it again, to what it is.
func (r *Reconciler) act(ctx context.Context, shoot *gardencorev1beta1.Shoot, due *trigger) error {
	if ptr.Deref(shoot.Spec.Hibernation.Enabled, false) != due.sleep {
		if err := mayChange(shoot, due); err != nil {
			return err
		}
		if err := patch.LockedObject(ctx, r.Garden, shoot, func() {
			shoot.Spec.Hibernation.Enabled = &due.sleep
		}); err != nil {
			return err
		}
		reason, message := reasonWokenUp, "The shoot is woken up by its schedule of "
		if due.sleep {
			reason, message = reasonHibernated, "The shoot is put to sleep by its schedule of "
		}
		r.Events.Event(shoot, corev1.EventTypeNormal, reason, message+due.at.Format(time.RFC3339))
	}
	at := metav1.NewTime(due.at)
	return patch.Status(ctx, r.Garden, shoot, func() { shoot.Status.LastHibernationTriggerTime = &at })
}

// mayChange says why a shoot is not switched now; it is tried again. A shoot that might not wake up is not put to sleep
// (docs/specification/care.md#spec-5-5), and one that is on its way to another seed is left alone.
func mayChange(shoot *gardencorev1beta1.Shoot, due *trigger) error {
	if from, to := ptr.Deref(shoot.Status.SeedName, ""), ptr.Deref(shoot.Spec.SeedName, ""); from != to {
		return fmt.Errorf("%w: it is on its way from seed %q to seed %q", errRefused, from, to)
	}
	if !due.sleep {
		return nil
	}
	for _, c := range shoot.Status.Constraints {
		if c.Type == gardencorev1beta1.ShootHibernationPossible && c.Status != gardencorev1beta1.ConditionTrue {
			return fmt.Errorf("%w: constraint %s is %s (%s): %s", errRefused, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return nil
}
