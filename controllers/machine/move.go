package machine

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// move takes a machine from one set to another: it becomes of the other's class. Both sets say which machine is under
// way until it has arrived, and are left alone as long; so a crash between any two writes makes or deletes no machine,
// and endMoves finishes what was begun. Nothing is locked: who compares a set with its machines looks whether the set
// is still the same afterwards (Sets.moving).
func (r *Deployments) move(ctx context.Context, m *machinev1alpha1.Machine, from,
	to *machinev1alpha1.MachineSet) error {
	for _, step := range []struct {
		set   *machinev1alpha1.MachineSet
		delta int32
	}{{from, -1}, {to, +1}} {
		if err := r.Control.Get(ctx, client.ObjectKeyFromObject(step.set), step.set); err != nil {
			return fmt.Errorf("read MachineSet %q: %w", step.set.Name, err)
		}
		if step.set.Annotations[annotationMoving] == m.Name {
			continue
		}
		if err := patch(ctx, r.Control, step.set, func() {
			metav1.SetMetaDataAnnotation(&step.set.ObjectMeta, annotationMoving, m.Name)
			step.set.Spec.Replicas = max(step.set.Spec.Replicas+step.delta, 0)
		}); err != nil {
			return err
		}
	}
	hash := to.Spec.Template.Labels[machinev1alpha1.LabelMachineTemplateHash]
	if err := patch(ctx, r.Control, m, func() {
		if m.Labels == nil {
			m.Labels = map[string]string{}
		}
		m.Labels[machinev1alpha1.LabelMachineTemplateHash] = hash
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(to,
			machinev1alpha1.SchemeGroupVersion.WithKind("MachineSet"))}
		m.Spec.Class = to.Spec.Template.Spec.Class
	}); client.IgnoreNotFound(err) != nil {
		return err
	}
	return r.arrived(ctx, to, from)
}

// arrived lets the sets be looked at again.
func (r *Deployments) arrived(ctx context.Context, sets ...*machinev1alpha1.MachineSet) error {
	for _, set := range sets {
		if err := client.IgnoreNotFound(patch(ctx, r.Control, set, func() {
			delete(set.Annotations, annotationMoving)
		})); err != nil {
			return err
		}
	}
	return nil
}

// endMoves finishes moves that were interrupted.
func (r *Deployments) endMoves(ctx context.Context, current *machinev1alpha1.MachineSet,
	old []*machinev1alpha1.MachineSet, machines *machinev1alpha1.MachineList) error {
	for _, set := range append([]*machinev1alpha1.MachineSet{current}, old...) {
		name := set.Annotations[annotationMoving]
		if name == "" {
			continue
		}
		from, m := whose(name, old, machines)
		if from == nil { // it has arrived, or is gone
			if err := r.arrived(ctx, set); err != nil {
				return err
			}
			continue
		}
		if err := r.move(ctx, m, from, current); err != nil {
			return err
		}
		delete(set.Annotations, annotationMoving)
	}
	return nil
}

// whose finds the old set that still has the machine.
func whose(name string, old []*machinev1alpha1.MachineSet,
	machines *machinev1alpha1.MachineList) (*machinev1alpha1.MachineSet, *machinev1alpha1.Machine) {
	for i := range machines.Items {
		m := &machines.Items[i]
		for _, set := range old {
			if m.Name == name && belongs(m, set) {
				return set, m
			}
		}
	}
	return nil, nil
}
