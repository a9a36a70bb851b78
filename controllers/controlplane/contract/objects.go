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
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Objects are the extension objects of one control plane.
type Objects struct{ *scope.Scope }

func (o *Objects) client() Client { return Client{Seed: o.Seed, Clock: o.Clock} }

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
	return o.client().Deploy(ctx, object, constants.GardenerOperationReconcile, mutate)
}

// Wait waits until an extension object has done what was asked (docs/specification/extensions.md#spec-3-5).
// Errors that carry codes are taken for passing ones until the severe threshold.
func (o *Objects) Wait(ctx context.Context, object extensionsv1alpha1.Object) error {
	waits, err := o.patience(ctx, object)
	if err != nil {
		return err
	}
	start := o.Clock.Now()
	name := objects.Name(object, o.Seed.Scheme())
	return o.Await(ctx, waits.Timeout, name, func(ctx context.Context, seed client.Reader) error {
		if err := objects.Read(ctx, seed, object); err != nil {
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
	return o.Await(ctx, timeout, "the extension for "+objects.Name(object, o.Seed.Scheme()),
		func(ctx context.Context, seed client.Reader) error {
			if err := objects.Read(ctx, seed, object); err != nil {
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

// Migrate asks an extension to release an object; one that does not exist is fine. For an object that is
// released already, it does not ask again.
func (o *Objects) Migrate(ctx context.Context, object extensionsv1alpha1.Object) error {
	return o.withExisting(ctx, object, func() error {
		if Migrated(object) == nil {
			return nil
		}
		return client.IgnoreNotFound(o.client().Request(ctx, object, constants.GardenerOperationMigrate))
	})
}

// WaitMigrated waits until an extension object has been migrated or is gone. An older Migrate/Succeeded than the
// request does not count (docs/specification/quirks.md#quirk-m2).
func (o *Objects) WaitMigrated(ctx context.Context, object extensionsv1alpha1.Object) error {
	waits, err := o.patience(ctx, object)
	if err != nil {
		return err
	}
	return o.Await(ctx, waits.Timeout, "the migration of "+objects.Name(object, o.Seed.Scheme()),
		func(ctx context.Context, seed client.Reader) error {
			if err := objects.Read(ctx, seed, object); err != nil {
				return client.IgnoreNotFound(err)
			}
			return Migrated(object)
		})
}

// Delete confirms and deletes an extension object; one that does not exist is fine.
func (o *Objects) Delete(ctx context.Context, object extensionsv1alpha1.Object) error {
	return o.withExisting(ctx, object, func() error { return o.client().Delete(ctx, object) })
}

// withExisting reads an object, and does something with it if it exists.
func (o *Objects) withExisting(ctx context.Context, object extensionsv1alpha1.Object, do func() error) error {
	err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err != nil {
		return patch.Describe("read", object, o.Seed, client.IgnoreNotFound(err))
	}
	return do()
}

// WaitDeleted waits until an extension object is gone; the error of its extension is passed on when time is up.
func (o *Objects) WaitDeleted(ctx context.Context, object extensionsv1alpha1.Object) error {
	waits, err := o.patience(ctx, object)
	if err != nil {
		return err
	}
	return o.Await(ctx, waits.Timeout, "the deletion of "+objects.Name(object, o.Seed.Scheme()),
		func(ctx context.Context, seed client.Reader) error {
			err := objects.GoneFrom(ctx, seed, o.Seed.Scheme(), object)
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
	if o.Fresh {
		return nil
	}
	objects, err := o.List(ctx, kind)
	if err != nil {
		return err
	}
	return o.DeleteEach(ctx, slices.DeleteFunc(objects, func(object extensionsv1alpha1.Object) bool {
		return wanted[object.GetName()]
	}))
}
