package controlplane

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// Moment is when in a flow the Extension objects of a type are dealt with (docs/specification/api.md#spec-1-8).
type Moment = gardencorev1beta1.ControllerResourceLifecycleStrategy

// lifecycle has the moments of one type.
type lifecycle struct{ reconcile, delete, migrate Moment }

// lifecycleOf takes what is registered for a type, and the defaults for the rest. What no flow knows is as if it were
// not there: an object that fitted no moment would be left behind.
func lifecycleOf(resource gardencorev1beta1.ControllerResource) lifecycle {
	const before, later, last = gardencorev1beta1.BeforeKubeAPIServer, gardencorev1beta1.AfterKubeAPIServer,
		gardencorev1beta1.AfterWorker
	given := ptr.Deref(resource.Lifecycle, gardencorev1beta1.ControllerResourceLifecycle{})
	one := func(moment *Moment, fallback Moment, known ...Moment) Moment {
		if moment == nil || !slices.Contains(known, *moment) {
			return fallback
		}
		return *moment
	}
	return lifecycle{
		reconcile: one(given.Reconcile, later, before, later, last),
		delete:    one(given.Delete, before, before, later),
		migrate:   one(given.Migrate, before, before, later),
	}
}

// registered is what the garden says of the types of Extensions. It is read once in a run: an Extension is dealt with
// at one moment, whatever becomes of its registration meanwhile. The zero value has read nothing yet.
type registered struct {
	mu     sync.Mutex
	byType map[string]gardencorev1beta1.ControllerResource
}

// registrations are those of the controllers that decide about Extension objects, by type.
func (o *Operation) registrations(ctx context.Context) (map[string]gardencorev1beta1.ControllerResource, error) {
	o.registered.mu.Lock()
	defer o.registered.mu.Unlock()
	if o.registered.byType != nil {
		return o.registered.byType, nil
	}
	list := &gardencorev1beta1.ControllerRegistrationList{}
	if err := o.Garden.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the controller registrations: %w", err)
	}
	byType := map[string]gardencorev1beta1.ControllerResource{}
	for _, registration := range list.Items {
		for _, resource := range registration.Spec.Resources {
			if resource.Kind == extensionsv1alpha1.ExtensionResource && ptr.Deref(resource.Primary, true) {
				byType[resource.Type] = resource
			}
		}
	}
	o.registered.byType = byType
	return byType, nil
}

// Extensions are the Extension objects that the shoot shall have, by name and spec: those that it asks for, and those
// that every shoot has that does not switch them off (docs/specification/api.md#spec-1-8, autoEnable).
func (o *Operation) Extensions(ctx context.Context) ([]*extensionsv1alpha1.Extension, error) {
	types, err := o.registrations(ctx)
	if err != nil {
		return nil, err
	}
	wanted := slices.Clone(o.Shoot.Spec.Extensions)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		named := slices.ContainsFunc(wanted, func(e gardencorev1beta1.Extension) bool { return e.Type == name })
		if !named && o.enablesItself(types[name]) {
			wanted = append(wanted, gardencorev1beta1.Extension{Type: name})
		}
	}
	var extensions []*extensionsv1alpha1.Extension
	for _, one := range wanted {
		if ptr.Deref(one.Disabled, false) {
			continue
		}
		e := &extensionsv1alpha1.Extension{ObjectMeta: o.meta(one.Type)}
		e.Spec.Type, e.Spec.ProviderConfig = one.Type, one.ProviderConfig
		extensions = append(extensions, e)
	}
	return extensions, nil
}

func (o *Operation) enablesItself(resource gardencorev1beta1.ControllerResource) bool {
	return slices.Contains(resource.AutoEnable, gardencorev1beta1.ClusterTypeShoot) &&
		(!o.Workerless() || ptr.Deref(resource.WorkerlessSupported, false))
}

// extensionsAt are those of the Extensions that are reconciled, or restored, at a moment.
func (o *Operation) extensionsAt(ctx context.Context, moment Moment) ([]*extensionsv1alpha1.Extension, error) {
	types, err := o.registrations(ctx)
	if err != nil {
		return nil, err
	}
	all, err := o.Extensions(ctx)
	return slices.DeleteFunc(all, func(e *extensionsv1alpha1.Extension) bool {
		return lifecycleOf(types[e.Spec.Type]).reconcile != moment
	}), err
}

// ExtensionsToMigrate are the Extension objects of the namespace that are released at a moment.
func (o *Operation) ExtensionsToMigrate(ctx context.Context, moment Moment) ([]extensionsv1alpha1.Object, error) {
	return o.presentExtensions(ctx, func(l lifecycle) bool { return l.migrate == moment })
}

func (o *Operation) extensionsToDelete(ctx context.Context, moment Moment) ([]extensionsv1alpha1.Object, error) {
	return o.presentExtensions(ctx, func(l lifecycle) bool { return l.delete == moment })
}

func (o *Operation) presentExtensions(ctx context.Context, fits func(lifecycle) bool) ([]extensionsv1alpha1.Object,
	error) {
	types, err := o.registrations(ctx)
	if err != nil {
		return nil, err
	}
	present, err := o.List(ctx, extensionsv1alpha1.ExtensionResource)
	return slices.DeleteFunc(present, func(e extensionsv1alpha1.Object) bool {
		return !fits(lifecycleOf(types[e.GetExtensionSpec().GetExtensionType()]))
	}), err
}

func (o *Operation) deployExtensions(moment Moment) func(context.Context) error {
	return func(ctx context.Context) error {
		extensions, err := o.extensionsAt(ctx, moment)
		if err != nil {
			return err
		}
		for _, extension := range extensions {
			spec := *extension.Spec.DeepCopy()
			if err := o.DeployExtension(ctx, extension, func() error { extension.Spec = spec; return nil }); err != nil {
				return err
			}
		}
		return nil
	}
}

func (o *Operation) waitExtensions(moment Moment) func(context.Context) error {
	return func(ctx context.Context) error {
		extensions, err := o.extensionsAt(ctx, moment)
		if err != nil {
			return err
		}
		for _, extension := range extensions {
			if err := o.WaitExtension(ctx, extension); err != nil {
				return err
			}
		}
		return nil
	}
}

// deployExtensionsAsleep deals with the Extensions that come before the API server when that has gone to sleep, and
// with them of a shoot that sleeps: what they do goes by that (docs/specification/migration.md#spec-2-9-task-54).
func (o *Operation) deployExtensionsAsleep(ctx context.Context) error {
	if err := o.deployExtensions(gardencorev1beta1.BeforeKubeAPIServer)(ctx); err != nil {
		return err
	}
	return o.waitExtensions(gardencorev1beta1.BeforeKubeAPIServer)(ctx)
}
