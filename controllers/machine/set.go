package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// annotationPriority orders the machines of a set when some have to go: the lowest first, three if absent.
const annotationPriority = "machinepriority.machine.sapcloud.io"

// Sets keeps the number of Machines that a MachineSet wants.
type Sets struct {
	Control client.Client
	Owner   Owner
	Clock   clock.PassiveClock
	Orphans *Orphans
	Poll    time.Duration // how long to wait for ownership
}

var _ reconcile.Reconciler = &Sets{}

// Reconcile implements reconcile.Reconciler.
func (r *Sets) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	set := &machinev1alpha1.MachineSet{}
	if err := r.Control.Get(ctx, req.NamespacedName, set); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	machines, err := r.machines(ctx, set)
	if err != nil {
		return reconcile.Result{}, retryConflict(err)
	}
	if set.DeletionTimestamp != nil {
		return reconcile.Result{}, retryConflict(r.remove(ctx, set, machines))
	}
	if err := hold(ctx, r.Control, set); err != nil {
		return reconcile.Result{}, retryConflict(err)
	}
	if moving, err := r.moving(ctx, set); err != nil || moving {
		return reconcile.Result{RequeueAfter: r.Poll}, err
	}
	// Who does not own the shoot makes no plans for it: what he would begin, he could not end.
	if err := r.Owner.Valid(ctx); err != nil {
		log.FromContext(ctx).Info("The set waits for a valid ownership of the shoot", "reason", err.Error())
		return reconcile.Result{RequeueAfter: r.Poll}, retryConflict(r.status(ctx, set))
	}
	again, err := r.balance(ctx, set, machines)
	if err != nil {
		return reconcile.Result{}, retryConflict(err)
	}
	return reconcile.Result{RequeueAfter: again}, retryConflict(r.status(ctx, set))
}

// moving says whether a machine may have come or gone between the reading of the set and that of its machines: then
// they are not to be compared. Whoever moves a machine changes the set before and after (see Deployments.move), so one
// that is still as it was read, and of which no machine is under way, stood still meanwhile.
func (r *Sets) moving(ctx context.Context, set *machinev1alpha1.MachineSet) (bool, error) {
	now := &machinev1alpha1.MachineSet{}
	if err := r.Control.Get(ctx, client.ObjectKeyFromObject(set), now); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	return now.ResourceVersion != set.ResourceVersion || now.Annotations[annotationMoving] != "", nil
}

// machines are the set's. Those that were restored name no owner and are adopted by their labels.
func (r *Sets) machines(ctx context.Context, set *machinev1alpha1.MachineSet) ([]*machinev1alpha1.Machine, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of MachineSet %q: %w", set.Name, err)
	}
	all := &machinev1alpha1.MachineList{}
	if err := r.Control.List(ctx, all, client.InNamespace(set.Namespace),
		client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list the machines of MachineSet %q: %w", set.Name, err)
	}
	var machines []*machinev1alpha1.Machine
	for i := range all.Items {
		m := &all.Items[i]
		mine, err := claim(ctx, r.Control, m, set, "MachineSet")
		if err != nil {
			return nil, err
		}
		if mine {
			machines = append(machines, m)
		}
	}
	return machines, nil
}

// belongs says whether a machine is a set's: by its owner, or by its labels while it has none, as after a restoration.
func belongs(m *machinev1alpha1.Machine, set *machinev1alpha1.MachineSet) bool {
	if ref := metav1.GetControllerOf(m); ref != nil {
		return ref.UID == set.UID
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(m.Labels))
}

func (r *Sets) remove(ctx context.Context, set *machinev1alpha1.MachineSet, machines []*machinev1alpha1.Machine) error {
	if !hasFinalizer(set) {
		return nil
	}
	for _, m := range machines {
		if m.DeletionTimestamp == nil {
			if err := r.delete(ctx, m); err != nil {
				return err
			}
		}
	}
	if len(machines) > 0 {
		return nil // the end of the last machine wakes
	}
	return removeFinalizers(ctx, r.Control, set)
}

func (r *Sets) status(ctx context.Context, set *machinev1alpha1.MachineSet) error {
	machines, err := r.machines(ctx, set)
	if err != nil {
		return err
	}
	return patch.Status(ctx, r.Control, set, func() {
		status := &set.Status
		status.ObservedGeneration = set.Generation
		status.Replicas, status.AvailableReplicas = int32(len(machines)), 0
		status.FailedMachines = summariesOfFailed(machines)
		for _, m := range machines {
			if available(m) {
				status.AvailableReplicas++
			}
		}
		status.FullyLabeledReplicas, status.ReadyReplicas = status.Replicas, status.AvailableReplicas
	})
}

// available says whether a machine is a healthy node that stays.
func available(m *machinev1alpha1.Machine) bool {
	return m.DeletionTimestamp == nil && m.Status.CurrentStatus.Phase == machinev1alpha1.MachineRunning
}

// summariesOfFailed are the machines whose last operation failed, by name; nil when there are none.
func summariesOfFailed(machines []*machinev1alpha1.Machine) *[]machinev1alpha1.MachineSummary {
	var failed []machinev1alpha1.MachineSummary
	for _, m := range machines {
		if m.Status.LastOperation.State != machinev1alpha1.MachineStateFailed {
			continue
		}
		summary := machinev1alpha1.MachineSummary{Name: m.Name, ProviderID: m.Spec.ProviderID,
			LastOperation: m.Status.LastOperation}
		if owner := metav1.GetControllerOf(m); owner != nil {
			summary.OwnerRef = owner.Name
		}
		failed = append(failed, summary)
	}
	if failed == nil {
		return nil
	}
	slices.SortFunc(failed, func(a, b machinev1alpha1.MachineSummary) int { return cmp.Compare(a.Name, b.Name) })
	return &failed
}
