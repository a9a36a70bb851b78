// Package operation runs the flow that a shoot needs, if the shoot is this seed's and no other flow works on it. When a
// gardenlet starts, it aborts the operations that were interrupted. It does not know which flows there are, and when
// they are due: whoever adds the Reconciler fills its table.
package operation

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
)

// Table says which flow is for which operation.
type Table map[gardencorev1beta1.LastOperationType]Next

// Next returns the flow that is to run now. It returns nil if none is, and how long to wait; zero waits for the next
// change of the shoot.
type Next func(context.Context, *controlplane.Operation) (*run.Flow, time.Duration, error)

// Reconciler works on the shoots of a seed whose operation is in its table, and on no others.
type Reconciler struct {
	Factory *controlplane.Factory
	Runner  *run.Runner
	Flows   Table
}

// AddToManager adds the Reconciler to a manager on the garden. It works on up to workers shoots at a time.
func (r *Reconciler) AddToManager(mgr manager.Manager, name string, workers int) error {
	err := builder.ControllerManagedBy(mgr).Named(name).
		For(&gardencorev1beta1.Shoot{}, builder.WithPredicates(predicate.NewPredicateFuncs(r.isResponsible),
			predicate.Funcs{UpdateFunc: isNews})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", name, err)
	}
	return nil
}

// isResponsible depends on nothing but the shoot. So the change that makes another Reconciler responsible wakes that.
func (r *Reconciler) isResponsible(object client.Object) bool {
	shoot, ok := object.(*gardencorev1beta1.Shoot)
	return ok && r.Flows[lifecycle.OperationType(shoot)] != nil &&
		lifecycle.ResponsibleSeed(shoot.Spec.SeedName, shoot.Status.SeedName) == r.Factory.SeedName
}

// isNews reports whether a change of a shoot may be one for an operation. Labels are none, nor conditions that are True
// or Progressing: a control plane that is gone makes constraints Unknown at once, and those count.
func isNews(e event.UpdateEvent) bool {
	before, was := e.ObjectOld.(*gardencorev1beta1.Shoot)
	after, is := e.ObjectNew.(*gardencorev1beta1.Shoot)
	if !was || !is {
		return true
	}
	for _, c := range after.Status.Conditions {
		if c.Status == gardencorev1beta1.ConditionFalse || c.Status == gardencorev1beta1.ConditionUnknown {
			return true
		}
	}
	counts := func(shoot gardencorev1beta1.Shoot) gardencorev1beta1.Shoot {
		shoot.Labels, shoot.ManagedFields, shoot.ResourceVersion, shoot.Status.Conditions = nil, nil, "", nil
		return shoot
	}
	return !equality.Semantic.DeepEqual(counts(*before), counts(*after))
}

// busyRetry is when to look again at a shoot that another flow of this gardenlet works on.
const busyRetry = time.Second

// Reconcile runs the flow that one shoot needs, if it is due.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	unlock, free := r.Factory.TryLock(request.NamespacedName)
	if !free {
		return reconcile.Result{RequeueAfter: busyRetry}, nil
	}
	defer unlock()
	o, err := r.Factory.Operation(ctx, log.FromContext(ctx), request.NamespacedName)
	if o == nil || err != nil {
		return reconcile.Result{}, err
	}
	if !r.isResponsible(o.Shoot) || o.Shoot.Annotations[constants.ShootIgnore] == constants.LabelTrue {
		return reconcile.Result{}, nil
	}
	if o.Stopped() {
		return reconcile.Result{RequeueAfter: lifecycle.StoppedRetry}, nil
	}
	// The failure is an event, of whatever operation: it has woken us.
	if lifecycle.Stuck(o.Shoot) {
		if err := o.Cluster.ReportFailed(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	flow, wait, err := r.Flows[lifecycle.OperationType(o.Shoot)](ctx, o)
	if flow == nil || err != nil {
		return reconcile.Result{RequeueAfter: wait}, err
	}
	return reconcile.Result{}, r.Runner.Run(ctx, o.Scope, *flow)
}
