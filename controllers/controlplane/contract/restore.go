package contract

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// restore follows docs/specification/migration.md#spec-2-9-1. Unlike Gardener it makes sure of the referenced
// objects whether or not the state is there already (docs/specification/quirks.md#quirk-r1), before the state; and it
// leaves alone what has been restored (docs/specification/quirks.md#quirk-r2).
func (o *Objects) restore(ctx context.Context, object extensionsv1alpha1.Object, mutate func() error) error {
	operation := constants.GardenerOperationWaitForState
	created, err := patch.CreateOrRead(ctx, o.Seed, object, func(extensionsv1alpha1.Object) error {
		if err := mutate(); err != nil {
			return err
		}
		saved, err := o.savedState(object)
		if saved == nil { // there is nothing to wait for
			operation = constants.GardenerOperationRestore
		}
		o.client().request(object, operation)
		return err
	})
	if err != nil || !created && Restored(object) || created && operation == constants.GardenerOperationRestore {
		return err
	}
	if !created { // by a run that was cut off
		if err := o.client().Deploy(ctx, object, constants.GardenerOperationWaitForState, mutate); err != nil {
			return err
		}
	}
	if err := o.restoreState(ctx, object); err != nil {
		return err
	}
	return o.client().Request(ctx, object, constants.GardenerOperationRestore)
}

func (o *Objects) restoreState(ctx context.Context, object extensionsv1alpha1.Object) error {
	entry, err := o.savedState(object)
	if err != nil || entry == nil {
		return err
	}
	for _, reference := range entry.Objects {
		referenced := reference.DeepCopy()
		referenced.SetNamespace(o.Namespace())
		// A token that was saved may be of a ServiceAccount that was lost with the seed: a new one is requested.
		unstructured.RemoveNestedField(referenced.Object, "metadata", "annotations", resourcesv1alpha1.AnnotationTokenRenewal)
		if err := o.Seed.Create(ctx, referenced); err != nil && !apierrors.IsAlreadyExists(err) {
			return patch.Describe("restore", referenced, o.Seed, err)
		}
	}
	status := object.GetExtensionStatus()
	if status.GetState() != nil {
		return nil
	}
	return patch.Status(ctx, o.Seed, object, func() {
		status.SetState(entry.State)
		status.SetResources(entry.Resources)
	})
}

// savedState is what the ShootState holds for an object. For a Worker that is the machines
// (docs/specification/extensions.md#spec-3-7): a state of its own beside them would be ambiguous.
func (o *Objects) savedState(object extensionsv1alpha1.Object) (*shootstate.ExtensionState, error) {
	kind := objects.KindOf(object, o.Seed.Scheme())
	entry := o.State.ForExtension(kind, object.GetName(), ptr.Deref(object.GetExtensionSpec().GetExtensionPurpose(), ""))
	if kind != extensionsv1alpha1.WorkerResource || o.State.Machines == nil {
		return entry, nil
	}
	if entry != nil && entry.State != nil {
		return nil, fmt.Errorf("the ShootState holds both machines and a state of Worker %q", object.GetName())
	}
	return &shootstate.ExtensionState{Kind: kind, Name: object.GetName(), State: o.State.Machines}, nil
}
