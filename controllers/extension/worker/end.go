package worker

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// annotationForced is on Machines that are ended by force because the shoot is to sleep. A user who forces one has no
// reason to set it: that Machine stays as it is when the shoot is woken.
const annotationForced = "transplant.dev/forced-by-hibernation"

// Tags by which the machine controller marks machines of the cloud, and the beginning of their provider ids.
const (
	tagMachine    = "transplant.dev/machine"
	machinePrefix = "transplant:///"
)

// deleteWorker removes all machines. Nodes are not drained: the shoot goes, and nobody is left to make room for.
func (p *Provider) deleteWorker(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.Worker,
	_ *contract.Cluster) error {
	if err := p.changeMachines(ctx, obj.Namespace, force); err != nil {
		return err
	}
	nothing := func(string) bool { return false }
	left, err := p.removeDeployments(ctx, obj.Namespace, nothing)
	if err != nil {
		return err
	}
	if left != "" {
		return p.waitForEnds(ctx, obj.Namespace, fmt.Sprintf("the deletion of MachineDeployment %q", left))
	}
	if err := p.waitForNoMachines(ctx, obj.Namespace); err != nil {
		return err
	}
	classes, err := p.classesBut(ctx, obj.Namespace, nothing)
	if err != nil {
		return err
	}
	return p.removeClasses(ctx, classes)
}

// force marks a Machine to be ended without its node being drained.
func force(m *machinev1alpha1.Machine) {
	metav1.SetMetaDataLabel(&m.ObjectMeta, machinev1alpha1.LabelForceDeletion, machinev1alpha1.ForceDeletion)
}

// forceForSleep does so until the shoot is woken. A shoot that goes to sleep does not respect disruption budgets, as
// one that is deleted: there is no other node for its pods.
func forceForSleep(m *machinev1alpha1.Machine) {
	if m.Labels[machinev1alpha1.LabelForceDeletion] != machinev1alpha1.ForceDeletion {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, annotationForced, "true")
		force(m)
	}
}

// unforce takes off the mark of a shoot that was woken before all its Machines were deleted.
func unforce(m *machinev1alpha1.Machine) {
	if m.Annotations[annotationForced] != "" && m.DeletionTimestamp == nil {
		delete(m.Annotations, annotationForced)
		delete(m.Labels, machinev1alpha1.LabelForceDeletion)
	}
}

// changeMachines changes every Machine of the shoot for which there is something to change.
func (p *Provider) changeMachines(ctx context.Context, namespace string, change func(*machinev1alpha1.Machine)) error {
	machines := &machinev1alpha1.MachineList{}
	if err := p.Seed.List(ctx, machines, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the machines: %w", err)
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		if err := patch.Object(ctx, p.Seed, m, func() { change(m) }); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// waitForNoMachines waits until the shoot has no machine any more, neither here nor in the cloud.
func (p *Provider) waitForNoMachines(ctx context.Context, namespace string) error {
	machines := &machinev1alpha1.MachineList{}
	if err := p.Seed.List(ctx, machines, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the machines: %w", err)
	}
	left := len(machines.Items)
	if left == 0 {
		orphans, err := p.endOrphans(ctx, namespace)
		if err != nil || orphans == 0 {
			return err
		}
		left = orphans
	}
	return p.waitForEnds(ctx, namespace, fmt.Sprintf("the end of %d machines", left))
}

// endOrphans ends machines of the cloud that no Machine stands for, and says how many there are. Their quarantine is
// for a shoot that may miss them: one that sleeps or goes has no machines. Each gets a Machine that is deleted, so that
// the machine controller ends it as every other.
func (p *Provider) endOrphans(ctx context.Context, namespace string) (int, error) {
	ctx = cloud.WithScope(ctx, cloud.Scope{Shoot: namespace})
	found, err := p.Cloud.Machines().List(ctx, fence.ShootTag(ctx))
	if err != nil {
		return 0, fmt.Errorf("list the machines of the cloud: %w", err)
	}
	orphans := 0
	for _, vm := range found {
		name := vm.Tags[tagMachine]
		if name == "" || vm.State == cloud.MachineTerminated { // a bastion's, or gone
			continue
		}
		orphans++
		m := &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, Finalizers: []string{constants.FinalizerMachineControllerManager},
				Labels:      map[string]string{machinev1alpha1.LabelNode: vm.Hostname},
				Annotations: map[string]string{machinev1alpha1.AnnotationOrphan: vm.ID},
			},
			Spec: machinev1alpha1.MachineSpec{ProviderID: machinePrefix + vm.ID},
		}
		force(m)
		if err := p.Seed.Create(ctx, m); err != nil && !apierrors.IsAlreadyExists(err) {
			return 0, fmt.Errorf("make a Machine for the orphan %q: %w", vm.ID, err)
		}
	}
	return orphans, nil
}
