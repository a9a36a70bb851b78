package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

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
func (o *Operation) patience(ctx context.Context, object extensionsv1alpha1.Object) (Patience, error) {
	kind := kindOf(object, o.Seed.Scheme())
	waits := patience[kind]
	if kind != extensionsv1alpha1.ExtensionResource {
		return waits, nil
	}
	types, err := o.registrations(ctx)
	if timeout := types[object.GetExtensionSpec().GetExtensionType()].ReconcileTimeout; timeout != nil {
		waits.Timeout = timeout.Duration
	}
	return waits, err
}

// request stamps an object with an operation. Equal requests differ by their timestamp.
func (o *Operation) request(object client.Object, operation string) {
	metav1.SetMetaDataAnnotation(objectMeta(object), constants.GardenerOperation, operation)
	o.stamp(object)
}

func (o *Operation) stamp(object client.Object) {
	metav1.SetMetaDataAnnotation(objectMeta(object), constants.GardenerTimestamp,
		o.Clock.Now().UTC().Format(time.RFC3339Nano))
}

func objectMeta(object client.Object) *metav1.ObjectMeta {
	return object.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// DeployExtension brings an extension object to its spec and asks for its reconciliation, or for its restoration
// while restoring.
func (o *Operation) DeployExtension(ctx context.Context, object extensionsv1alpha1.Object, mutate func() error) error {
	if o.Restoring() {
		return o.restoreExtension(ctx, object, mutate)
	}
	return createOrPatch(ctx, o.Seed, object, func(extensionsv1alpha1.Object) error {
		o.request(object, constants.GardenerOperationReconcile)
		return mutate()
	})
}

// restoreExtension follows docs/specification/migration.md#spec-2-9-1. Unlike Gardener it makes sure of the referenced
// objects whether or not the state is there already (docs/specification/quirks.md#quirk-r1), before the state; and it
// leaves alone what has been restored (docs/specification/quirks.md#quirk-r2).
func (o *Operation) restoreExtension(ctx context.Context, object extensionsv1alpha1.Object, mutate func() error) error {
	err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil && restored(object) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return describe("read", object, o.Seed, err)
	}
	if err := createOrPatch(ctx, o.Seed, object, func(extensionsv1alpha1.Object) error {
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
	return describe("request the restoration of", object, o.Seed, o.Seed.Patch(ctx, object, client.MergeFrom(before)))
}

func (o *Operation) restoreState(ctx context.Context, object extensionsv1alpha1.Object) error {
	entry, err := o.savedState(object)
	if err != nil || entry == nil {
		return err
	}
	for _, reference := range entry.Objects {
		referenced := reference.DeepCopy()
		referenced.SetNamespace(o.Namespace())
		if err := o.Seed.Create(ctx, referenced); err != nil && !apierrors.IsAlreadyExists(err) {
			return describe("restore", referenced, o.Seed, err)
		}
	}
	status := object.GetExtensionStatus()
	if status.GetState() != nil {
		return nil
	}
	before := object.DeepCopyObject().(client.Object)
	status.SetState(entry.State)
	status.SetResources(entry.Resources)
	return describe("restore the state of", object, o.Seed, o.Seed.Status().Patch(ctx, object, client.MergeFrom(before)))
}

// savedState is what the ShootState holds for an object. For a Worker that is the machines
// (docs/specification/extensions.md#spec-3-7): a state of its own beside them would be ambiguous.
func (o *Operation) savedState(object extensionsv1alpha1.Object) (*shootstate.ExtensionState, error) {
	kind := kindOf(object, o.Seed.Scheme())
	entry := o.State.ForExtension(kind, object.GetName(), ptr.Deref(object.GetExtensionSpec().GetExtensionPurpose(), ""))
	if kind != extensionsv1alpha1.WorkerResource || o.State.Machines == nil {
		return entry, nil
	}
	if entry != nil && entry.State != nil {
		return nil, fmt.Errorf("the ShootState holds both machines and a state of Worker %q", object.GetName())
	}
	return &shootstate.ExtensionState{Kind: kind, Name: object.GetName(), State: o.State.Machines}, nil
}

func restored(object extensionsv1alpha1.Object) bool {
	last := object.GetExtensionStatus().GetLastOperation()
	return last != nil && last.Type == gardencorev1beta1.LastOperationTypeRestore &&
		last.State == gardencorev1beta1.LastOperationStateSucceeded &&
		object.GetAnnotations()[constants.GardenerOperation] == ""
}

// WaitExtension waits until an extension object has done what was asked (docs/specification/extensions.md#spec-3-5).
// Errors that carry codes are taken for passing ones until the severe threshold.
func (o *Operation) WaitExtension(ctx context.Context, object extensionsv1alpha1.Object) error {
	waits, err := o.patience(ctx, object)
	if err != nil {
		return err
	}
	start := o.Clock.Now()
	return o.Until(ctx, waits.Timeout, name(object, o.Seed.Scheme()), func(ctx context.Context) error {
		if err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		err := Ready(object)
		if coded := (&CodedError{}); errors.As(err, &coded) && len(coded.Codes) > 0 && o.Clock.Since(start) > waits.Severe {
			return Permanent(err)
		}
		return err
	})
}

// CodedError is an error with the codes that it deserves (docs/specification/care.md#spec-5-8), for example an
// extension's own with those it gave.
type CodedError struct {
	Message string
	Codes   []gardencorev1beta1.ErrorCode
	// Cause may be nil. Its codes count as well.
	Cause error
}

// Error implements error.
func (e *CodedError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *CodedError) Unwrap() error { return e.Cause }

// Ready is the list of docs/specification/extensions.md#spec-3-5: nil when the extension has done what was asked, else
// the first thing that is amiss.
func Ready(object extensionsv1alpha1.Object) error {
	status := object.GetExtensionStatus()
	if lastError := status.GetLastError(); lastError != nil {
		return &CodedError{Message: "error during reconciliation: " + lastError.Description, Codes: lastError.Codes}
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

// MigrateExtension asks an extension to release an object; one that does not exist is fine. For an object that is
// released already, it does not ask again.
func (o *Operation) MigrateExtension(ctx context.Context, object extensionsv1alpha1.Object) error {
	err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) || (err == nil && Migrated(object) == nil) {
		return nil
	}
	if err != nil {
		return describe("read", object, o.Seed, err)
	}
	before := object.DeepCopyObject().(client.Object)
	o.request(object, constants.GardenerOperationMigrate)
	return describe("request the migration of", object, o.Seed,
		client.IgnoreNotFound(o.Seed.Patch(ctx, object, client.MergeFrom(before))))
}

// WaitMigrated waits until an extension object has been migrated or is gone. An older Migrate/Succeeded than the
// request does not count (docs/specification/quirks.md#quirk-m2).
func (o *Operation) WaitMigrated(ctx context.Context, object extensionsv1alpha1.Object) error {
	waits, err := o.patience(ctx, object)
	if err != nil {
		return err
	}
	return o.Until(ctx, waits.Timeout, "the migration of "+name(object, o.Seed.Scheme()), func(ctx context.Context) error {
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
			return &CodedError{Message: "error during migration: " + lastError.Description, Codes: lastError.Codes}
		}
		return errors.New("last operation is not Migrate/Succeeded")
	}
	if object.GetAnnotations()[constants.GardenerOperation] == constants.GardenerOperationMigrate {
		return errors.New("the migrate annotation is still there")
	}
	return upToDate(object, last)
}

// DeleteExtension confirms and deletes an extension object; one that does not exist is fine.
func (o *Operation) DeleteExtension(ctx context.Context, object extensionsv1alpha1.Object) error {
	err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return describe("read", object, o.Seed, err)
	}
	before := object.DeepCopyObject().(client.Object)
	metav1.SetMetaDataAnnotation(objectMeta(object), constants.ConfirmationDeletion, "true")
	o.stamp(object)
	if err := o.Seed.Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return describe("confirm the deletion of", object, o.Seed, client.IgnoreNotFound(err))
	}
	return remove(ctx, o.Seed, object)
}

// WaitDeleted waits until an extension object is gone; the error of its extension is passed on when time is up.
func (o *Operation) WaitDeleted(ctx context.Context, object extensionsv1alpha1.Object) error {
	waits, err := o.patience(ctx, object)
	if err != nil {
		return err
	}
	return o.Until(ctx, waits.Timeout, "the deletion of "+name(object, o.Seed.Scheme()), func(ctx context.Context) error {
		err := gone(ctx, o.Seed, object)
		if lastError := object.GetExtensionStatus().GetLastError(); err != nil && lastError != nil {
			return &CodedError{Message: lastError.Description, Codes: lastError.Codes}
		}
		return err
	})
}
