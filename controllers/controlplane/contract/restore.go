package contract

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// restore follows docs/specification/migration.md#spec-2-9-1. Unlike Gardener it makes sure of the referenced
// objects whether or not the state is there already (docs/specification/quirks.md#quirk-r1), before the state; and it
// leaves alone what has been restored (docs/specification/quirks.md#quirk-r2).
func (o *Objects) restore(ctx context.Context, object extensionsv1alpha1.Object, mutate func() error) error {
	err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil && Restored(object) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return patch.Describe("read", object, o.Seed, err)
	}
	if err := patch.CreateOrPatch(ctx, o.Seed, object, func(extensionsv1alpha1.Object) error {
		o.request(object, constants.GardenerOperationWaitForState)
		return mutate()
	}); err != nil {
		return err
	}
	if err := o.restoreState(ctx, object); err != nil {
		return err
	}
	before := object.DeepCopyObject().(client.Object)
	o.request(object, constants.GardenerOperationRestore)
	return patch.Describe("request the restoration of", object, o.Seed,
		o.Seed.Patch(ctx, object, client.MergeFrom(before)))
}

func (o *Objects) restoreState(ctx context.Context, object extensionsv1alpha1.Object) error {
	entry, err := o.savedState(object)
	if err != nil || entry == nil {
		return err
	}
	for _, reference := range entry.Objects {
		referenced := reference.DeepCopy()
		referenced.SetNamespace(o.Namespace())
		if err := o.Seed.Create(ctx, referenced); err != nil && !apierrors.IsAlreadyExists(err) {
			return patch.Describe("restore", referenced, o.Seed, err)
		}
	}
	status := object.GetExtensionStatus()
	if status.GetState() != nil {
		return nil
	}
	before := object.DeepCopyObject().(client.Object)
	status.SetState(entry.State)
	status.SetResources(entry.Resources)
	return patch.Describe("restore the state of", object, o.Seed,
		o.Seed.Status().Patch(ctx, object, client.MergeFrom(before)))
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

// Restored reports whether the extension has restored the object, with nothing left to do.
func Restored(object extensionsv1alpha1.Object) bool {
	last := object.GetExtensionStatus().GetLastOperation()
	return last != nil && last.Type == gardencorev1beta1.LastOperationTypeRestore &&
		last.State == gardencorev1beta1.LastOperationStateSucceeded &&
		object.GetAnnotations()[constants.GardenerOperation] == ""
}

// Migrate asks an extension to release an object; one that does not exist is fine. For an object that is
// released already, it does not ask again.
func (o *Objects) Migrate(ctx context.Context, object extensionsv1alpha1.Object) error {
	err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) || (err == nil && Migrated(object) == nil) {
		return nil
	}
	if err != nil {
		return patch.Describe("read", object, o.Seed, err)
	}
	before := object.DeepCopyObject().(client.Object)
	o.request(object, constants.GardenerOperationMigrate)
	return patch.Describe("request the migration of", object, o.Seed,
		client.IgnoreNotFound(o.Seed.Patch(ctx, object, client.MergeFrom(before))))
}

// WaitMigrated waits until an extension object has been migrated or is gone. An older Migrate/Succeeded than the
// request does not count (docs/specification/quirks.md#quirk-m2).
func (o *Objects) WaitMigrated(ctx context.Context, object extensionsv1alpha1.Object) error {
	waits, err := o.patience(ctx, object)
	if err != nil {
		return err
	}
	return o.Until(ctx, waits.Timeout, "the migration of "+objects.Name(object, o.Seed.Scheme()),
		func(ctx context.Context) error {
			if err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return client.IgnoreNotFound(err)
			}
			return Migrated(object)
		})
}

// Migrated is nil when the extension has released the object, after the last request and with nothing left to do.
func Migrated(object extensionsv1alpha1.Object) error {
	last := object.GetExtensionStatus().GetLastOperation()
	if last == nil || last.Type != gardencorev1beta1.LastOperationTypeMigrate ||
		last.State != gardencorev1beta1.LastOperationStateSucceeded {
		if lastError := object.GetExtensionStatus().GetLastError(); lastError != nil {
			return &errorcodes.Error{Message: "error during migration: " + lastError.Description, Codes: lastError.Codes}
		}
		return errors.New("last operation is not Migrate/Succeeded")
	}
	if object.GetAnnotations()[constants.GardenerOperation] == constants.GardenerOperationMigrate {
		return errors.New("the migrate annotation is still there")
	}
	return upToDate(object, last)
}
