package migration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/cachefirst"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/migration/refusals"
)

// AddToManager adds the SourceCleanup to a manager on the garden.
func (r *SourceCleanup) AddToManager(mgr manager.Manager, workers int) error {
	away := predicate.NewPredicateFuncs(func(object client.Object) bool {
		shoot, ok := object.(*gardencorev1beta1.Shoot)
		return ok && movedAway(shoot, r.Factory.SeedName)
	})
	return complete(mgr, "source-cleanup", workers, r, &gardencorev1beta1.Shoot{}, away)
}

// AddToManager adds the Readiness to a manager on the garden.
func (r *Readiness) AddToManager(mgr manager.Manager) error {
	first := &cachefirst.Reconciler{
		Live: r.Garden, Cached: mgr.GetCache(), Clock: r.Clock, Fallback: r.Retry,
		Of: func(c client.Client) reconcile.Reconciler {
			return &Readiness{Garden: c, Clock: r.Clock, Retry: r.Retry}
		},
	}
	return complete(mgr, "migration-readiness", 1, first, &gardencorev1beta1.Shoot{})
}

// AddToManager adds the ForcedRestore to a manager on the garden.
func (r *ForcedRestore) AddToManager(mgr manager.Manager) error {
	return complete(mgr, "forced-restore", 1, r.cacheFirst(mgr.GetCache()), &gardencorev1beta1.Shoot{},
		predicate.NewPredicateFuncs(lifecycle.Forced))
}

func (r *ForcedRestore) cacheFirst(cached client.Reader) reconcile.Reconciler {
	r.Refused = &refusals.Refusals{Cached: cached}
	return &cachefirst.Reconciler{
		Live: r.Garden, Cached: cached, Clock: r.Clock, Fallback: r.Retry,
		Of: func(c client.Client) reconcile.Reconciler {
			return &ForcedRestore{
				Garden: c, States: r.States, Clock: r.Clock, Events: r.Events, Retry: r.Retry, Refused: r.Refused,
			}
		},
	}
}

// AddToManager adds the Evacuation to a manager on the garden.
func (e *Evacuation) AddToManager(mgr manager.Manager) error {
	if err := mgr.Add(e); err != nil {
		return fmt.Errorf("add the evacuation: %w", err)
	}
	return nil
}

func complete(mgr manager.Manager, name string, workers int, r reconcile.Reconciler, object client.Object,
	predicates ...predicate.Predicate) error {
	err := builder.ControllerManagedBy(mgr).Named(name).
		For(object, builder.WithPredicates(predicates...)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", name, err)
	}
	return nil
}

// AddToManager adds the BackupBuckets to a manager on the garden.
func (r *BackupBuckets) AddToManager(mgr manager.Manager, seed cluster.Cluster) error {
	mine := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetName() == r.SeedName })
	bySeed := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: r.SeedName}}}
	})
	err := builder.ControllerManagedBy(mgr).Named("backupbucket").
		For(&gardencorev1beta1.Seed{}, builder.WithPredicates(mine, predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Kind[client.Object](seed.GetCache(), &extensionsv1alpha1.BackupBucket{}, bySeed)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", "backupbucket", err)
	}
	return nil
}

// answers are the events of an extension's BackupEntry that somebody may wait for.
func answers() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return isAnswer(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return isAnswer(e.ObjectNew) },
	}
}

// AddToManager adds the BackupEntries to a manager on the garden. The extension's objects wake it.
func (r *BackupEntries) AddToManager(mgr manager.Manager, seed cluster.Cluster, workers int) error {
	asks := predicate.TypedFuncs[client.Object]{
		CreateFunc: func(e event.CreateEvent) bool {
			entry, ok := e.Object.(*gardencorev1beta1.BackupEntry)
			return ok && r.task(entry) != ""
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*gardencorev1beta1.BackupEntry)
			after, too := e.ObjectNew.(*gardencorev1beta1.BackupEntry)
			return ok && too && r.asksAnew(before, after)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
	byName := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		return r.entryOf(ctx, mgr.GetCache(), object)
	})
	err := builder.ControllerManagedBy(mgr).Named("backupentry").
		For(&gardencorev1beta1.BackupEntry{}, builder.WithPredicates(asks)).
		WatchesRawSource(source.Kind[client.Object](seed.GetCache(), &extensionsv1alpha1.BackupEntry{}, byName, answers())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", "backupentry", err)
	}
	return nil
}

// AddToManager adds the StateSync to a manager on the garden. Every change of what holds state in the seed wakes it.
func (r *StateSync) AddToManager(mgr manager.Manager, seed cluster.Cluster, workers int) error {
	byNamespace := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		return r.shootOf(ctx, mgr.GetCache(), seed.GetCache(), object)
	})
	b := builder.ControllerManagedBy(mgr).Named("shootstate").
		For(&gardencorev1beta1.Shoot{}, builder.WithPredicates(predicate.NewPredicateFuncs(r.isResponsible),
			predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return r.isNews(e.ObjectOld, e.ObjectNew) }})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	for _, kind := range extensionsv1alpha1.Kinds() {
		if kind.Stateful && kind.Namespaced {
			b = b.WatchesRawSource(source.Kind[client.Object](seed.GetCache(), kind.New(), byNamespace))
		}
	}
	for _, object := range []client.Object{&machinev1alpha1.Machine{}, &machinev1alpha1.MachineSet{},
		&machinev1alpha1.MachineDeployment{}} {
		b = b.WatchesRawSource(source.Kind(seed.GetCache(), object, byNamespace))
	}
	persisted := predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetLabels()[constants.Persist] == constants.LabelTrue
	})
	b = b.WatchesRawSource(source.Kind[client.Object](seed.GetCache(), &corev1.Secret{}, byNamespace, persisted))
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("add controller %q: %w", "shootstate", err)
	}
	return nil
}
