package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/machine/rollingupdate"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// sizes counts the machines of each set.
func (r *Deployments) sizes(ctx context.Context, namespace string,
	sets []*machinev1alpha1.MachineSet) (map[string]rollingupdate.Size, error) {
	machines := &machinev1alpha1.MachineList{}
	if err := r.Control.List(ctx, machines, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the machines: %w", err)
	}
	sizes := map[string]rollingupdate.Size{}
	for _, set := range sets {
		size := rollingupdate.Size{Name: set.Name, Wanted: set.Spec.Replicas}
		for i := range machines.Items {
			if m := &machines.Items[i]; belongs(m, set) {
				addTo(&size, m)
			}
		}
		sizes[set.Name] = size
	}
	return sizes, nil
}

// addTo adds a machine to its set.
func addTo(s *rollingupdate.Size, m *machinev1alpha1.Machine) {
	s.Actual++
	if m.DeletionTimestamp == nil {
		s.Staying++
	}
	switch phase := m.Status.CurrentStatus.Phase; {
	case m.DeletionTimestamp != nil:
	case available(m):
		s.Available++
	case phase == machinev1alpha1.MachineFailed, phase == machinev1alpha1.MachineCrashLoopBackOff:
		s.Failed++
	}
}

func (r *Deployments) status(ctx context.Context, d *machinev1alpha1.MachineDeployment,
	current *machinev1alpha1.MachineSet, sets []*machinev1alpha1.MachineSet) error {
	sizes, err := r.sizes(ctx, d.Namespace, sets)
	if err != nil {
		return err
	}
	return patch.Status(ctx, r.Control, d, func() {
		status := &d.Status
		status.ObservedGeneration = d.Generation
		status.Replicas, status.AvailableReplicas = 0, 0
		for _, size := range sizes {
			status.Replicas += size.Actual
			status.AvailableReplicas += size.Available
		}
		status.ReadyReplicas = status.AvailableReplicas
		status.UpdatedReplicas = sizes[current.Name].Actual
		status.FailedMachines = failedOf(sets)
		status.UnavailableReplicas = max(d.Spec.Replicas-status.AvailableReplicas, 0)
		r.conditions(d)
	})
}

// failedOf the sets are the machines that their statuses name as failed.
func failedOf(sets []*machinev1alpha1.MachineSet) (failed []*machinev1alpha1.MachineSummary) {
	for _, set := range sets {
		if set.Status.FailedMachines == nil {
			continue
		}
		for _, machine := range *set.Status.FailedMachines {
			failed = append(failed, &machine)
		}
	}
	slices.SortFunc(failed, func(a, b *machinev1alpha1.MachineSummary) int { return cmp.Compare(a.Name, b.Name) })
	return failed
}

func (r *Deployments) conditions(d *machinev1alpha1.MachineDeployment) {
	s := d.Status
	needed := d.Spec.Replicas - rollingupdate.BoundsOf(d.Spec.Strategy, d.Spec.Replicas).Unavailable
	available := machinev1alpha1.MachineDeploymentCondition{
		Type: "Available", Status: metav1.ConditionTrue, Reason: "MinimumReplicasAvailable",
		Message: "Deployment has minimum availability.",
	}
	if s.AvailableReplicas < needed {
		available.Status, available.Reason, available.Message = metav1.ConditionFalse, "MinimumReplicasUnavailable",
			"Deployment does not have minimum availability."
	}
	progressing := machinev1alpha1.MachineDeploymentCondition{
		Type: "Progressing", Status: metav1.ConditionTrue, Reason: "NewMachineSetAvailable",
		Message: "All machines are available and up to date.",
	}
	if s.UpdatedReplicas != d.Spec.Replicas || s.Replicas != d.Spec.Replicas || s.AvailableReplicas != d.Spec.Replicas {
		progressing.Reason = "MachineSetUpdated"
		progressing.Message = fmt.Sprintf("%d of %d machines are up to date, %d available.", s.UpdatedReplicas,
			d.Spec.Replicas, s.AvailableReplicas)
	}
	for _, condition := range []machinev1alpha1.MachineDeploymentCondition{available, progressing} {
		d.Status.Conditions = r.setCondition(d.Status.Conditions, condition)
	}
}

func (r *Deployments) setCondition(conditions []machinev1alpha1.MachineDeploymentCondition,
	wanted machinev1alpha1.MachineDeploymentCondition) []machinev1alpha1.MachineDeploymentCondition {
	now := metav1.NewTime(r.Clock.Now())
	wanted.LastUpdateTime, wanted.LastTransitionTime = now, now
	for i, have := range conditions {
		if have.Type != wanted.Type {
			continue
		}
		if have.Status == wanted.Status {
			wanted.LastTransitionTime = have.LastTransitionTime
		}
		same := wanted
		same.LastUpdateTime = have.LastUpdateTime
		if !equality.Semantic.DeepEqual(same, have) {
			conditions[i] = wanted
		}
		return conditions
	}
	return append(conditions, wanted)
}
