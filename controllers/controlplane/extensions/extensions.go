// Package extensions has the extension objects of a shoot that are no workers, DNS records or backups, each as a
// component, and the Cluster object.
package extensions

import (
	"context"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// Extensions are the Extension objects of a shoot.
type Extensions struct {
	*scope.Scope
	objects *contract.Objects
}

// NewExtensions makes it over a scope.
func NewExtensions(s *scope.Scope) *Extensions {
	return &Extensions{Scope: s, objects: &contract.Objects{Scope: s}}
}

// Moment is when in a flow the Extension objects of a type are dealt with (docs/specification/api.md#spec-1-8).
type Moment = gardencorev1beta1.ControllerResourceLifecycleStrategy

// timing has the moments of one type.
type timing struct{ reconcile, delete, migrate Moment }

// timingOf takes what is registered for a type, and the defaults for the rest. What no flow knows is as if it were
// not there: an object that fitted no moment would be left behind.
func timingOf(resource gardencorev1beta1.ControllerResource) timing {
	const before, later, last = gardencorev1beta1.BeforeKubeAPIServer, gardencorev1beta1.AfterKubeAPIServer,
		gardencorev1beta1.AfterWorker
	given := ptr.Deref(resource.Lifecycle, gardencorev1beta1.ControllerResourceLifecycle{})
	one := func(moment *Moment, fallback Moment, known ...Moment) Moment {
		if moment == nil || !slices.Contains(known, *moment) {
			return fallback
		}
		return *moment
	}
	return timing{
		reconcile: one(given.Reconcile, later, before, later, last),
		delete:    one(given.Delete, before, before, later),
		migrate:   one(given.Migrate, before, before, later),
	}
}

// Wanted are the Extension objects that the shoot shall have, by name and spec: those that it asks for, and those
// that every shoot has that does not switch them off (docs/specification/api.md#spec-1-8, autoEnable).
func (x *Extensions) Wanted(ctx context.Context) ([]*extensionsv1alpha1.Extension, error) {
	types, err := x.Registrations(ctx)
	if err != nil {
		return nil, err
	}
	wanted := slices.Clone(x.Shoot.Spec.Extensions)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		named := slices.ContainsFunc(wanted, func(e gardencorev1beta1.Extension) bool { return e.Type == name })
		if !named && x.enablesItself(types[name]) {
			wanted = append(wanted, gardencorev1beta1.Extension{Type: name})
		}
	}
	var extensions []*extensionsv1alpha1.Extension
	for _, one := range wanted {
		if ptr.Deref(one.Disabled, false) {
			continue
		}
		e := &extensionsv1alpha1.Extension{ObjectMeta: x.Meta(one.Type)}
		e.Spec.Type, e.Spec.ProviderConfig = one.Type, one.ProviderConfig
		extensions = append(extensions, e)
	}
	return extensions, nil
}

func (x *Extensions) enablesItself(resource gardencorev1beta1.ControllerResource) bool {
	return slices.Contains(resource.AutoEnable, gardencorev1beta1.ClusterTypeShoot) &&
		(!x.Workerless() || ptr.Deref(resource.WorkerlessSupported, false))
}

// at are those of the Extensions that are reconciled, or restored, at a moment.
func (x *Extensions) at(ctx context.Context, moment Moment) ([]*extensionsv1alpha1.Extension, error) {
	types, err := x.Registrations(ctx)
	if err != nil {
		return nil, err
	}
	all, err := x.Wanted(ctx)
	return slices.DeleteFunc(all, func(e *extensionsv1alpha1.Extension) bool {
		return timingOf(types[e.Spec.Type]).reconcile != moment
	}), err
}

func (x *Extensions) present(ctx context.Context, fits func(timing) bool) ([]extensionsv1alpha1.Object,
	error) {
	types, err := x.Registrations(ctx)
	if err != nil {
		return nil, err
	}
	present, err := x.objects.List(ctx, extensionsv1alpha1.ExtensionResource)
	return slices.DeleteFunc(present, func(e extensionsv1alpha1.Object) bool {
		return !fits(timingOf(types[e.GetExtensionSpec().GetExtensionType()]))
	}), err
}

// Deploy deploys or restores the Extensions of a moment.
func (x *Extensions) Deploy(moment Moment) func(context.Context) error {
	return x.each(moment, func(ctx context.Context, e *extensionsv1alpha1.Extension) error {
		spec := *e.Spec.DeepCopy()
		return x.objects.Deploy(ctx, e, func() error { e.Spec = spec; return nil })
	})
}

// Wait waits for the Extensions of a moment.
func (x *Extensions) Wait(moment Moment) func(context.Context) error {
	return x.each(moment, func(ctx context.Context, e *extensionsv1alpha1.Extension) error {
		return x.objects.Wait(ctx, e)
	})
}

func (x *Extensions) each(moment Moment, do func(context.Context, *extensionsv1alpha1.Extension) error,
) func(context.Context) error {
	return func(ctx context.Context) error {
		extensions, err := x.at(ctx, moment)
		if err != nil {
			return err
		}
		for _, extension := range extensions {
			if err := do(ctx, extension); err != nil {
				return err
			}
		}
		return nil
	}
}

// DeployAsleep deals with the Extensions that come before the API server when that has gone to sleep, and
// with them of a shoot that sleeps: what they do goes by that (docs/specification/migration.md#spec-2-9-task-54).
func (x *Extensions) DeployAsleep(ctx context.Context) error {
	if err := x.Deploy(gardencorev1beta1.BeforeKubeAPIServer)(ctx); err != nil {
		return err
	}
	return x.Wait(gardencorev1beta1.BeforeKubeAPIServer)(ctx)
}

// Delete deletes the Extensions that are deleted at a moment (docs/specification/api.md#spec-1-8).
func (x *Extensions) Delete(moment Moment) func(context.Context) error {
	return x.eachPresent(func(l timing) bool { return l.delete == moment }, x.objects.DeleteEach)
}

// Migrate asks for the migration of the Extensions that are released at a moment, and waits for all.
func (x *Extensions) Migrate(moment Moment) func(context.Context) error {
	return x.eachPresent(func(l timing) bool { return l.migrate == moment }, x.objects.MigrateEach)
}

// DeleteMigrated deletes the Extensions that were released at a moment, and waits for all.
func (x *Extensions) DeleteMigrated(moment Moment) func(context.Context) error {
	return x.eachPresent(func(l timing) bool { return l.migrate == moment }, x.objects.DeleteEach)
}

func (x *Extensions) eachPresent(fits func(timing) bool,
	do func(context.Context, []extensionsv1alpha1.Object) error) func(context.Context) error {
	return func(ctx context.Context) error {
		extensions, err := x.present(ctx, fits)
		if err != nil {
			return err
		}
		return do(ctx, extensions)
	}
}

// DeleteStale deletes the Extension objects that the shoot no longer asks for, and waits until they are gone:
// what they stand for goes with them, which nobody could do after a move (docs/specification/migration.md#spec-2-6,
// docs/specification/migration.md#spec-2-9).
func (x *Extensions) DeleteStale(ctx context.Context) error {
	extensions, err := x.Wanted(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, extension := range extensions {
		wanted[extension.Name] = true
	}
	return x.objects.DeleteStale(ctx, extensionsv1alpha1.ExtensionResource, wanted)
}

// Runtimes are the ContainerRuntime objects of a shoot.
type Runtimes struct {
	*scope.Scope
	objects *contract.Objects
}

// NewRuntimes makes it over a scope.
func NewRuntimes(s *scope.Scope) *Runtimes {
	return &Runtimes{Scope: s, objects: &contract.Objects{Scope: s}}
}

// wanted are the ContainerRuntime objects that the shoot's pools ask for, by name and spec.
func (c *Runtimes) wanted() []*extensionsv1alpha1.ContainerRuntime {
	var runtimes []*extensionsv1alpha1.ContainerRuntime
	for _, worker := range c.Shoot.Spec.Provider.Workers {
		if worker.CRI == nil {
			continue
		}
		for _, wanted := range worker.CRI.ContainerRuntimes {
			r := &extensionsv1alpha1.ContainerRuntime{ObjectMeta: c.Meta(wanted.Type + "-" + worker.Name)}
			r.Spec.Type, r.Spec.ProviderConfig = wanted.Type, wanted.ProviderConfig
			r.Spec.BinaryPath = "/var/bin/containerruntimes"
			r.Spec.WorkerPool.Name = worker.Name
			r.Spec.WorkerPool.Selector.MatchLabels = map[string]string{constants.WorkerPool: worker.Name}
			runtimes = append(runtimes, r)
		}
	}
	return runtimes
}

// Deploy deploys or restores them.
func (c *Runtimes) Deploy(ctx context.Context) error {
	for _, r := range c.wanted() {
		spec := *r.Spec.DeepCopy()
		if err := c.objects.Deploy(ctx, r, func() error { r.Spec = spec; return nil }); err != nil {
			return err
		}
	}
	return nil
}

// Wait waits for them.
func (c *Runtimes) Wait(ctx context.Context) error {
	for _, r := range c.wanted() {
		if err := c.objects.Wait(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// DeleteStale deletes those that no pool asks for, and waits until they are gone.
func (c *Runtimes) DeleteStale(ctx context.Context) error {
	wanted := map[string]bool{}
	for _, runtime := range c.wanted() {
		wanted[runtime.Name] = true
	}
	return c.objects.DeleteStale(ctx, extensionsv1alpha1.ContainerRuntimeResource, wanted)
}
