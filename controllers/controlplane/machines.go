package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// machineFinalizers keep machine objects until their machines are gone; a shallow deletion takes them off.
var machineFinalizers = []string{constants.FinalizerMachineControllerManager, constants.FinalizerMachineController}

// purposeMachineClass and purposeCloudProvider are values of the label gardener.cloud/purpose on Secrets.
const (
	purposeMachineClass  = "machineclass"
	purposeCloudProvider = "cloudprovider"
)

// ShallowDeleteMachines deletes the machine objects without their machines
// (docs/specification/migration.md#spec-2-6-1): finalizers go first, and nobody acts on machine objects any more. Real
// machines stay untouched.
func (o *Operation) ShallowDeleteMachines(ctx context.Context) error {
	lists := []client.ObjectList{
		&machinev1alpha1.MachineDeploymentList{}, &machinev1alpha1.MachineSetList{},
		&machinev1alpha1.MachineList{}, &machinev1alpha1.MachineClassList{},
	}
	for _, list := range lists {
		if err := o.Seed.List(ctx, list, client.InNamespace(o.Namespace())); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
		for _, object := range items(list) {
			if err := o.shallowDelete(ctx, object, true); err != nil {
				return err
			}
		}
	}
	secrets := &corev1.SecretList{}
	if err := o.Seed.List(ctx, secrets, client.InNamespace(o.Namespace()),
		client.HasLabels{constants.GardenerPurpose}); err != nil {
		return fmt.Errorf("list the machine classes' secrets: %w", err)
	}
	for i := range secrets.Items {
		switch secret := &secrets.Items[i]; secret.Labels[constants.GardenerPurpose] {
		case purposeMachineClass, purposeCloudProvider:
			if err := o.shallowDelete(ctx, secret, secret.Labels[constants.GardenerPurpose] == purposeMachineClass); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Operation) shallowDelete(ctx context.Context, object client.Object, remove bool) error {
	before := object.DeepCopyObject().(client.Object)
	changed := false
	for _, finalizer := range machineFinalizers {
		changed = controllerutil.RemoveFinalizer(object, finalizer) || changed
	}
	if changed {
		if err := o.Seed.Patch(ctx, object, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return describe("strip the finalizers of", object, o.Seed, err)
		}
	}
	if !remove {
		return nil
	}
	return describe("delete", object, o.Seed, client.IgnoreNotFound(o.Seed.Delete(ctx, object)))
}

func items(list client.ObjectList) []client.Object {
	var objects []client.Object
	switch l := list.(type) {
	case *machinev1alpha1.MachineDeploymentList:
		for i := range l.Items {
			objects = append(objects, &l.Items[i])
		}
	case *machinev1alpha1.MachineSetList:
		for i := range l.Items {
			objects = append(objects, &l.Items[i])
		}
	case *machinev1alpha1.MachineList:
		for i := range l.Items {
			objects = append(objects, &l.Items[i])
		}
	case *machinev1alpha1.MachineClassList:
		for i := range l.Items {
			objects = append(objects, &l.Items[i])
		}
	}
	return objects
}
