// Package service forwards the addresses of a cluster's services to its ready pods, as kube-proxy and a cloud's load
// balancers do elsewhere.
//
// It speaks TCP only and looks into nothing: bytes, half-closed connections and resets pass. It writes no
// EndpointSlices, which cannot hold the loopback addresses of this node's pods.
package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/address"
)

// Forwarder listens on services' addresses. Its fields are set before Run.
type Forwarder struct {
	Client        kubernetes.Interface
	Services      listers.ServiceLister
	Pods          listers.PodLister // those that it reaches: of this node, or of all nodes
	LoadBalancers *address.Pool     // nil if others balance load
	// Balanced is the range of the addresses that others give to load balancers; the zero value where LoadBalancers does.
	Balanced netip.Prefix
	// ServiceAddresses are the range of the cluster's services; addresses beyond it and the load balancers' are not ours.
	ServiceAddresses netip.Prefix
	Node             netip.Addr // for node ports; the zero value opens none
	APIServer        string     // host:port, behind service default/kubernetes
	Recorder         record.EventRecorder
	Log              logr.Logger
	Clock            clock.Clock

	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
	listeners map[cache.ObjectName]map[netip.AddrPort]*listener // used by Run's goroutine only
}

// Watch makes the forwarder follow services and pods. It is called before the informers start.
func (f *Forwarder) Watch(services, pods cache.SharedIndexInformer) error {
	f.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	f.listeners = map[cache.ObjectName]map[netip.AddrPort]*listener{}
	_, err := services.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    f.enqueue,
		UpdateFunc: func(_, service any) { f.enqueue(service) },
		DeleteFunc: f.enqueue,
	})
	if err != nil {
		return fmt.Errorf("watch the services: %w", err)
	}
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: f.enqueueServicesOf,
		UpdateFunc: func(old, pod any) {
			if changed(old.(*corev1.Pod), pod.(*corev1.Pod)) {
				f.enqueueServicesOf(pod)
			}
		},
		DeleteFunc: f.enqueueServicesOf,
	})
	if err != nil {
		return fmt.Errorf("watch the pods behind services: %w", err)
	}
	return nil
}

func (f *Forwarder) enqueue(object any) {
	if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
		f.queue.Add(name)
	}
}

func (f *Forwarder) enqueueServicesOf(pod any) {
	name, err := cache.DeletionHandlingObjectToName(pod)
	if err != nil {
		return
	}
	services, err := f.Services.Services(name.Namespace).List(labels.Everything())
	if err != nil {
		return // a lister does not fail
	}
	for _, service := range services {
		f.enqueue(service)
	}
}

// Run forwards until ctx is done. It is called when the informers have synced.
func (f *Forwarder) Run(ctx context.Context) {
	if f.LoadBalancers != nil {
		for _, owner := range f.LoadBalancers.Owners() { // some may have gone while nobody looked
			if name, err := cache.ParseObjectName(owner); err == nil {
				f.queue.Add(name)
			}
		}
	}
	stop := context.AfterFunc(ctx, f.queue.ShutDown)
	defer stop()
	for {
		name, ended := f.queue.Get()
		if ended {
			break
		}
		if err := f.sync(ctx, name); err != nil {
			f.Log.V(1).Info("Service is not forwarded", "service", name.String(), "reason", err.Error())
			f.queue.AddRateLimited(name)
		} else {
			f.queue.Forget(name)
		}
		f.queue.Done(name)
	}
	for _, listeners := range f.listeners {
		for _, l := range listeners {
			l.close()
		}
	}
}

// sync makes the listeners of one service what they should be.
func (f *Forwarder) sync(ctx context.Context, name cache.ObjectName) error {
	service, err := f.Services.Services(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) || err == nil && service.DeletionTimestamp != nil {
		return errors.Join(f.listen(name, nil), f.unbalance(name.String()))
	}
	if err != nil {
		return err
	}
	if f.LoadBalancers != nil {
		if err := f.balance(ctx, service); err != nil {
			return err
		}
	}
	wanted, err := f.wanted(service)
	if err != nil {
		return err
	}
	if err := f.listen(name, wanted); err != nil {
		if !isAPIServer(service) {
			f.Recorder.Eventf(service, corev1.EventTypeWarning, "FailedListen", "%v", err)
			return err
		}
		// Its port 443 is not for ordinary users; pods get the real address from KUBERNETES_SERVICE_HOST.
	}
	return nil
}

// listen opens, changes and closes listeners. What can be opened is opened, whatever else fails.
func (f *Forwarder) listen(name cache.ObjectName, wanted map[netip.AddrPort][]string) error {
	current := f.listeners[name]
	for front, l := range current {
		if _, still := wanted[front]; !still {
			l.close()
			delete(current, front)
		}
	}
	var errs []error
	for front, backends := range wanted {
		if l, open := current[front]; open {
			l.set(backends)
			continue
		}
		l, err := open(front, backends, f.Log, f.Clock)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if current == nil {
			current = map[netip.AddrPort]*listener{}
		}
		current[front] = l
	}
	if len(current) == 0 {
		delete(f.listeners, name)
	} else {
		f.listeners[name] = current
	}
	return errors.Join(errs...)
}
