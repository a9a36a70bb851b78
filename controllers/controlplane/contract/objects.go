// Package contract is the gardenlet's side of the extension contract (docs/specification/extensions.md): how an
// extension object is deployed, restored, migrated, waited for and deleted. It knows no kind but for how long it is
// waited for.
package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Objects are the extension objects of one control plane.
type Objects struct{ *scope.Scope }

// request stamps an object with an operation. Equal requests differ by their timestamp.
func (o *Objects) request(object client.Object, operation string) {
	metav1.SetMetaDataAnnotation(objects.Meta(object), constants.GardenerOperation, operation)
	o.stamp(object)
}

func (o *Objects) stamp(object client.Object) {
	metav1.SetMetaDataAnnotation(objects.Meta(object), constants.GardenerTimestamp,
		o.Clock.Now().UTC().Format(time.RFC3339Nano))
}

// ProviderSpec begins the spec of an object that the shoot's provider deals with.
func (o *Objects) ProviderSpec(config *runtime.RawExtension) extensionsv1alpha1.DefaultSpec {
	return extensionsv1alpha1.DefaultSpec{Type: o.Shoot.Spec.Provider.Type, ProviderConfig: config}
}

// SecretCloudProvider holds the credentials with which extensions reach the cloud.
const SecretCloudProvider = "cloudprovider"

// CloudProviderRef refers to the credentials with which extensions reach the cloud.
func (o *Objects) CloudProviderRef() corev1.SecretReference {
	return corev1.SecretReference{Name: SecretCloudProvider, Namespace: o.Namespace()}
}

// Deploy brings an extension object to its spec and asks for its reconciliation, or for its restoration
// while restoring.
func (o *Objects) Deploy(ctx context.Context, object extensionsv1alpha1.Object, mutate func() error) error {
	if o.Restoring() {
		return o.restore(ctx, object, mutate)
	}
	return patch.CreateOrPatch(ctx, o.Seed, object, func(extensionsv1alpha1.Object) error {
		o.request(object, constants.GardenerOperationReconcile)
		return mutate()
	})
}

// Wait waits until an extension object has done what was asked (docs/specification/extensions.md#spec-3-5).
// Errors that carry codes are taken for passing ones until the severe threshold.
func (o *Objects) Wait(ctx context.Context, object extensionsv1alpha1.Object) error {
	waits, err := o.patience(ctx, object)
	if err != nil {
		return err
	}
	start := o.Clock.Now()
	return o.Until(ctx, waits.Timeout, objects.Name(object, o.Seed.Scheme()), func(ctx context.Context) error {
		if err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		err := Ready(object)
		if coded := (&errorcodes.Error{}); errors.As(err, &coded) && len(coded.Codes) > 0 &&
			o.Clock.Since(start) > waits.Severe {
			return scope.Permanent(err)
		}
		return err
	})
}

// Ready is the list of docs/specification/extensions.md#spec-3-5: nil when the extension has done what was asked, else
// the first thing that is amiss.
func Ready(object extensionsv1alpha1.Object) error {
	status := object.GetExtensionStatus()
	if lastError := status.GetLastError(); lastError != nil {
		return &errorcodes.Error{Message: "error during reconciliation: " + lastError.Description, Codes: lastError.Codes}
	}
	if status.GetObservedGeneration() != object.GetGeneration() {
		return fmt.Errorf("observed generation %d is outdated, want %d", status.GetObservedGeneration(),
			object.GetGeneration())
	}
	if operation := object.GetAnnotations()[constants.GardenerOperation]; operation != "" {
		return fmt.Errorf("operation %q is not yet picked up", operation)
	}
	last := status.GetLastOperation()
	if last == nil {
		return errors.New("no last operation is recorded yet")
	}
	if last.State != gardencorev1beta1.LastOperationStateSucceeded {
		return fmt.Errorf("state is not Succeeded but %s: %s", last.State, last.Description)
	}
	return upToDate(object, last)
}

// upToDate returns an error if the last operation ended before the last request.
func upToDate(object client.Object, last *gardencorev1beta1.LastOperation) error {
	asked, err := time.Parse(time.RFC3339Nano, object.GetAnnotations()[constants.GardenerTimestamp])
	if err != nil {
		return nil //nolint:nilerr // an object nobody stamped has no request to wait for
	}
	if asked.Truncate(time.Second).After(last.LastUpdateTime.Time) {
		return fmt.Errorf("the request of %s is not answered, last update %s", asked.Format(time.RFC3339),
			last.LastUpdateTime.Format(time.RFC3339))
	}
	return nil
}

// List lists the extension objects of one kind in the control-plane namespace.
func (o *Objects) List(ctx context.Context, kind string) ([]extensionsv1alpha1.Object, error) {
	k, known := extensionsv1alpha1.KindByName(kind)
	if !known || !k.Namespaced {
		return nil, fmt.Errorf("list %q: not a kind of extension objects in a namespace", kind)
	}
	list := k.NewList()
	if err := o.Seed.List(ctx, list, client.InNamespace(o.Namespace())); err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	return list.Objects(), nil
}

// WaitTakenUp waits until an extension has begun to work on the object: it has its finalizer by then, without which a
// deletion would be none.
func (o *Objects) WaitTakenUp(ctx context.Context, object extensionsv1alpha1.Object) error {
	timeout := patience[objects.KindOf(object, o.Seed.Scheme())].Timeout
	return o.Until(ctx, timeout, "the extension for "+objects.Name(object, o.Seed.Scheme()),
		func(ctx context.Context) error {
			if err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return fmt.Errorf("read the object: %w", err)
			}
			if object.GetExtensionStatus().GetLastOperation() == nil {
				return errors.New("no last operation is recorded yet")
			}
			return nil
		})
}

// Patience is how long the gardenlet waits for one extension object, and how long it takes errors with codes for
// passing ones (docs/specification/extensions.md#spec-3-5).
type Patience struct{ Severe, Timeout time.Duration }

// patience lists the waits of docs/specification/extensions.md#spec-3-5 per kind.
var patience = map[string]Patience{
	extensionsv1alpha1.InfrastructureResource:        {3 * time.Minute, 10 * time.Minute},
	extensionsv1alpha1.WorkerResource:                {30 * time.Second, 10 * time.Minute},
	extensionsv1alpha1.ControlPlaneResource:          {30 * time.Second, 3 * time.Minute},
	extensionsv1alpha1.NetworkResource:               {30 * time.Second, 3 * time.Minute},
	extensionsv1alpha1.OperatingSystemConfigResource: {30 * time.Second, 3 * time.Minute},
	extensionsv1alpha1.ContainerRuntimeResource:      {30 * time.Second, 3 * time.Minute},
	extensionsv1alpha1.ExtensionResource:             {30 * time.Second, 3 * time.Minute},
	extensionsv1alpha1.DNSRecordResource:             {15 * time.Second, 2 * time.Minute},
	extensionsv1alpha1.BackupEntryResource:           {30 * time.Second, 10 * time.Minute},
	extensionsv1alpha1.BastionResource:               {30 * time.Second, 3 * time.Minute},
}

// patience is how long an object is waited for: an Extension's registration may say it of its type.
func (o *Objects) patience(ctx context.Context, object extensionsv1alpha1.Object) (Patience, error) {
	kind := objects.KindOf(object, o.Seed.Scheme())
	waits := patience[kind]
	if kind != extensionsv1alpha1.ExtensionResource {
		return waits, nil
	}
	types, err := o.Registrations(ctx)
	if timeout := types[object.GetExtensionSpec().GetExtensionType()].ReconcileTimeout; timeout != nil {
		waits.Timeout = timeout.Duration
	}
	return waits, err
}

// Delete confirms and deletes an extension object; one that does not exist is fine.
func (o *Objects) Delete(ctx context.Context, object extensionsv1alpha1.Object) error {
	err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return patch.Describe("read", object, o.Seed, err)
	}
	before := object.DeepCopyObject().(client.Object)
	metav1.SetMetaDataAnnotation(objects.Meta(object), constants.ConfirmationDeletion, "true")
	o.stamp(object)
	if err := o.Seed.Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return patch.Describe("confirm the deletion of", object, o.Seed, client.IgnoreNotFound(err))
	}
	return objects.Remove(ctx, o.Seed, object)
}

// WaitDeleted waits until an extension object is gone; the error of its extension is passed on when time is up.
func (o *Objects) WaitDeleted(ctx context.Context, object extensionsv1alpha1.Object) error {
	waits, err := o.patience(ctx, object)
	if err != nil {
		return err
	}
	return o.Until(ctx, waits.Timeout, "the deletion of "+objects.Name(object, o.Seed.Scheme()),
		func(ctx context.Context) error {
			err := objects.Gone(ctx, o.Seed, object)
			if lastError := object.GetExtensionStatus().GetLastError(); err != nil && lastError != nil {
				return &errorcodes.Error{Message: lastError.Description, Codes: lastError.Codes}
			}
			return err
		})
}

// DeleteAll deletes every object of the kinds in the control-plane namespace and waits until they are gone.
func (o *Objects) DeleteAll(kinds ...string) func(context.Context) error {
	return o.each(kinds, o.DeleteEach)
}

// MigrateAll asks for the migration of every object of the kinds in the control-plane namespace, and waits for all.
func (o *Objects) MigrateAll(kinds ...string) func(context.Context) error {
	return o.each(kinds, o.MigrateEach)
}

func (o *Objects) each(kinds []string, do func(context.Context, []extensionsv1alpha1.Object) error,
) func(context.Context) error {
	return func(ctx context.Context) error {
		var all []extensionsv1alpha1.Object
		for _, kind := range kinds {
			objects, err := o.List(ctx, kind)
			if err != nil {
				return err
			}
			all = append(all, objects...)
		}
		return do(ctx, all)
	}
}

// DeleteEach deletes extension objects and waits until all are gone.
func (o *Objects) DeleteEach(ctx context.Context, objects []extensionsv1alpha1.Object) error {
	return inPhases(ctx, objects, o.Delete, o.WaitDeleted)
}

// MigrateEach asks for the migration of extension objects, and waits for all.
func (o *Objects) MigrateEach(ctx context.Context, objects []extensionsv1alpha1.Object) error {
	return inPhases(ctx, objects, o.Migrate, o.WaitMigrated)
}

// inPhases does each thing with all objects before the next.
func inPhases(ctx context.Context, objects []extensionsv1alpha1.Object,
	phases ...func(context.Context, extensionsv1alpha1.Object) error) error {
	for _, do := range phases {
		for _, object := range objects {
			if err := do(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeleteStale deletes the objects of a kind but those that are wanted, by name, and waits until they are gone.
func (o *Objects) DeleteStale(ctx context.Context, kind string, wanted map[string]bool) error {
	objects, err := o.List(ctx, kind)
	if err != nil {
		return err
	}
	return o.DeleteEach(ctx, slices.DeleteFunc(objects, func(object extensionsv1alpha1.Object) bool {
		return wanted[object.GetName()]
	}))
}
