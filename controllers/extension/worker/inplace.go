package worker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// inPlaceOf stands for everything to which the pool's machines are updated in place, as the shoot has it; empty for a
// pool that rolls.
func inPlaceOf(pool extensionsv1alpha1.WorkerPool, shoot *gardencorev1beta1.Shoot) (string, error) {
	if !keepsMachines(pool) {
		return "", nil
	}
	i := slices.IndexFunc(shoot.Spec.Provider.Workers, func(w gardencorev1beta1.Worker) bool {
		return w.Name == pool.Name
	})
	if i < 0 {
		return "", fmt.Errorf("find out what pool %q is updated to in place: the shoot of the Cluster has no such pool",
			pool.Name)
	}
	return rollout.InPlaceFingerprint(shoot, &shoot.Spec.Provider.Workers[i])
}

// keepsMachines says whether a pool is updated in place.
func keepsMachines(pool extensionsv1alpha1.WorkerPool) bool {
	return (&gardencorev1beta1.Worker{UpdateStrategy: pool.UpdateStrategy}).UpdatesInPlace()
}

func (z zonePool) manual() bool {
	return ptr.Deref(z.pool.UpdateStrategy, "") == gardencorev1beta1.ManualInPlaceUpdate
}

// publishInPlace says of each pool that is updated in place what all its machines are at. A pool with machines that are
// not updated yet keeps what was said before.
func (p *Provider) publishInPlace(ctx context.Context, obj *extensionsv1alpha1.Worker, pools []zonePool) error {
	hashes := map[string]string{}
	behind := map[string]bool{}
	for _, pool := range pools {
		if pool.inPlace == "" {
			continue
		}
		updated, err := p.updated(ctx, obj.Namespace, pool)
		if err != nil {
			return err
		}
		behind[pool.pool.Name] = behind[pool.pool.Name] || !updated
		hashes[pool.pool.Name] = pool.inPlace
	}
	return contract.PatchStatus(ctx, p.Seed, obj, func() {
		known := cmp.Or(obj.Status.InPlaceUpdates, &extensionsv1alpha1.InPlaceUpdatesWorkerStatus{})
		maps.DeleteFunc(hashes, func(pool, _ string) bool { return behind[pool] && known.WorkerPoolToHashMap[pool] == "" })
		for pool := range hashes {
			if behind[pool] {
				hashes[pool] = known.WorkerPoolToHashMap[pool]
			}
		}
		obj.Status.InPlaceUpdates = nil
		if len(hashes) > 0 {
			obj.Status.InPlaceUpdates = &extensionsv1alpha1.InPlaceUpdatesWorkerStatus{WorkerPoolToHashMap: hashes}
		}
	})
}

// updated says whether all machines of a zone's part of a pool are of its class.
func (p *Provider) updated(ctx context.Context, namespace string, pool zonePool) (bool, error) {
	d := &machinev1alpha1.MachineDeployment{}
	if err := p.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pool.name}, d); err != nil {
		return false, fmt.Errorf("read MachineDeployment %q: %w", pool.name, err)
	}
	return d.Spec.Template.Spec.Class.Name == pool.class && d.Status.ObservedGeneration >= d.Generation &&
		d.Status.UpdatedReplicas >= d.Spec.Replicas && d.Status.Replicas == d.Spec.Replicas, nil
}

// InPlaceProgress keeps the Worker's status true while users update machines: nobody reconciles the Worker then.
type InPlaceProgress struct{ Provider *Provider }

// AddToManager wakes it when the machines of a pool change.
func (r *InPlaceProgress) AddToManager(mgr manager.Manager) error {
	err := builder.ControllerManagedBy(mgr).Named("worker-in-place").
		Watches(&machinev1alpha1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(publishing(mgr.GetCache()))).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", "worker-in-place", err)
	}
	return nil
}

// publishing are the Workers that an event concerns. What watches have shown does not fail: an event that cannot be
// mapped to a Worker is lost.
func publishing(known client.Reader) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &extensionsv1alpha1.WorkerList{}
		if err := known.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			if publishes(&list.Items[i]) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return requests
	}
}

// publishes says whether the status of a Worker says how far its machines are.
func publishes(obj *extensionsv1alpha1.Worker) bool {
	return obj.DeletionTimestamp == nil && !contract.Migrated(obj) && slices.ContainsFunc(obj.Spec.Pools, keepsMachines)
}

// Reconcile looks only at Workers that are at rest. One with a request is looked at by who serves it, who may have done
// so before the last machine was updated: it is looked at again.
func (r *InPlaceProgress) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	obj := &extensionsv1alpha1.Worker{}
	if err := r.Provider.Seed.Get(ctx, request.NamespacedName, obj); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !publishes(obj) {
		return reconcile.Result{}, nil
	}
	if contract.Due(obj) {
		return reconcile.Result{RequeueAfter: machinePoll}, nil
	}
	cluster, err := contract.GetCluster(ctx, r.Provider.Seed, obj.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	pools, err := poolsOf(obj, cluster)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, client.IgnoreNotFound(r.Provider.publishInPlace(ctx, obj, pools))
}
