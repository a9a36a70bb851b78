package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/connection"
)

// Controllers wires the controllers of one shoot.
type Controllers struct {
	TargetConfig *rest.Config // of the shoot
	Cloud        Cloud
	Owner        Owner
	Namespace    string
	Clock        clock.WithTicker
	Timeouts     Timeouts
	Quarantine   time.Duration
	OrphanPeriod time.Duration
	Workers      int
}

// AddToManager adds them to a manager made by NewManager.
func (c *Controllers) AddToManager(mgr manager.Manager) error {
	bounded := connection.Bounded(c.TargetConfig, connection.CallTimeout)
	target, err := client.New(bounded, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return fmt.Errorf("make the client of the shoot: %w", err)
	}
	// An event that cannot be mapped to an object is lost: whom it is for is read where that does not fail.
	known := mgr.GetCache()
	nodes := make(chan event.TypedGenericEvent[*corev1.Node], 100)
	orphans := &Orphans{
		Control: mgr.GetClient(), Cloud: c.Cloud, Owner: c.Owner, Clock: c.Clock,
		Events: mgr.GetEventRecorder("machine-controller"),
		Log:    mgr.GetLogger().WithName("orphans"), Namespace: c.Namespace, Quarantine: c.Quarantine, Every: c.OrphanPeriod,
	}
	deployments := &Deployments{Control: mgr.GetClient(), Target: target, Clock: c.Clock}
	sets := &Sets{Control: mgr.GetClient(), Owner: c.Owner, Clock: c.Clock, Orphans: orphans, Poll: c.Timeouts.Poll}
	machines := &Machines{Control: mgr.GetClient(), Target: target, Cloud: c.Cloud, Clock: c.Clock, Timeouts: c.Timeouts}
	return errors.Join(
		c.controller(mgr, "machinedeployment", &machinev1alpha1.MachineDeployment{}, 1).
			Watches(&machinev1alpha1.MachineSet{}, deploymentsOf(known)).
			Watches(&machinev1alpha1.Machine{}, deploymentsOf(known)).
			Complete(deployments),
		c.controller(mgr, "machineset", &machinev1alpha1.MachineSet{}, 1).
			Watches(&machinev1alpha1.Machine{}, setsOf(known)).
			Complete(sets),
		c.controller(mgr, "machine", &machinev1alpha1.Machine{}, c.Workers).
			WatchesRawSource(source.Channel(nodes, machinesOfNode(known, c.Namespace))).
			Complete(machines),
		mgr.Add(orphans),
		mgr.Add(nodeFeed{config: c.TargetConfig, nodes: nodes, clock: c.Clock, retry: c.Timeouts.Poll}),
	)
}

func (c *Controllers) controller(mgr manager.Manager, name string, kind client.Object, workers int) *builder.Builder {
	return builder.ControllerManagedBy(mgr).Named(name).For(kind).WithOptions(controller.Options{
		MaxConcurrentReconciles: workers,
		SkipNameValidation:      ptr.To(true),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](100*time.Millisecond,
			15*time.Second),
	})
}

// deploymentsOf are the deployments in the namespace of a set or machine: there are few, and one that was restored
// names no owner.
func deploymentsOf(c client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return all(ctx, c, &machinev1alpha1.MachineDeploymentList{}, client.InNamespace(o.GetNamespace()))
	})
}

func setsOf(c client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return all(ctx, c, &machinev1alpha1.MachineSetList{}, client.InNamespace(o.GetNamespace()))
	})
}

// all are the requests for the objects of a list; none if they cannot be read.
func all(ctx context.Context, c client.Reader, list client.ObjectList, only ...client.ListOption) []reconcile.Request {
	var requests []reconcile.Request
	if err := c.List(ctx, list, only...); err != nil {
		return nil
	}
	_ = meta.EachListItem(list, func(o runtime.Object) error { // it fails for what is no list
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
		return nil
	})
	return requests
}

func machinesOfNode(c client.Reader, namespace string) handler.TypedEventHandler[*corev1.Node, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, node *corev1.Node) []reconcile.Request {
		return all(ctx, c, &machinev1alpha1.MachineList{}, client.InNamespace(namespace),
			client.MatchingLabels{machinev1alpha1.LabelNode: node.Name})
	})
}

// nodeFeed reports changes of the shoot's nodes. The manager does not wait for it: the shoot's API server may come
// later, or be away for a while.
type nodeFeed struct {
	config *rest.Config
	nodes  chan<- event.TypedGenericEvent[*corev1.Node]
	clock  clock.Clock
	retry  time.Duration
}

// Start watches until ctx ends. It implements manager.Runnable.
func (f nodeFeed) Start(ctx context.Context) error {
	informers, err := cache.New(f.config, cache.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return fmt.Errorf("watch the nodes of the shoot: %w", err)
	}
	go f.follow(ctx, informers)
	return informers.Start(ctx)
}

// follow begins to watch as soon as the shoot's API server answers.
func (f nodeFeed) follow(ctx context.Context, informers cache.Cache) {
	for ctx.Err() == nil {
		informer, err := informers.GetInformer(ctx, &corev1.Node{}, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc:    func(o any) { f.report(ctx, o) },
				UpdateFunc: func(_, o any) { f.report(ctx, o) },
				DeleteFunc: func(o any) { f.report(ctx, o) },
			})
		}
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-f.clock.After(f.retry):
		}
	}
}

func (f nodeFeed) report(ctx context.Context, o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	node, ok := o.(*corev1.Node)
	if !ok {
		return
	}
	select {
	case f.nodes <- event.TypedGenericEvent[*corev1.Node]{Object: node}:
	case <-ctx.Done():
	}
}
