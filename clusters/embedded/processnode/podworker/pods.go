// Package podworker runs the pods of a process node: one worker for each pod, from its binding to its end. A worker
// makes the files, volumes and address of its pod, starts and stops the containers, and reports the status. This
// package registers no node, and serves no API.
package podworker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/address"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podref"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
)

// Node is what all pods of this node share.
type Node struct {
	Client    kubernetes.Interface
	Clock     clock.WithDelayedExecution
	Log       logr.Logger
	Recorder  record.EventRecorder
	Launcher  *container.Launcher
	Addresses *address.Pool         // of the pods
	Services  listers.ServiceLister // of all services
	Capacity  corev1.ResourceList
	APIServer podenv.APIServer  // as pods get it
	Address   netip.Addr        // of the node
	RootDir   string            // keeps pods/
	Cloud     podvolume.Driver  // of the cloud, whose volumes machines have; the zero value for none
	Machine   string            // the disk of the machine, on which paths of the host are; empty for the host's own
	Images    map[string]string // folders of programs, by the names of images

	RestartBackoff    time.Duration // of a container that fails, doubling
	MaxRestartBackoff time.Duration
}

// podFolder is where everything of a pod is kept while it exists.
func (n *Node) podFolder(pod *corev1.Pod) string {
	return filepath.Join(n.RootDir, "pods", string(pod.UID))
}

func (n *Node) servicesOf(namespace string) ([]*corev1.Service, error) {
	services, err := n.Services.Services(namespace).List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list the services of namespace %q: %w", namespace, err)
	}
	return services, nil
}

// Pods has a worker for each pod of this node. Its methods may be called from any goroutine.
type Pods struct {
	*Node
	ctx context.Context // of the workers: an informer's handlers get none

	mutex   sync.Mutex
	workers map[types.UID]*Worker
	group   sync.WaitGroup
}

// NewPods makes the pods of a node. Their workers run until ctx is done.
func NewPods(ctx context.Context, n *Node) *Pods {
	return &Pods{Node: n, ctx: ctx, workers: map[types.UID]*Worker{}}
}

// Watch makes the workers follow the pods of an informer that sees this node's only.
func (p *Pods) Watch(informer cache.SharedIndexInformer) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { p.see(object.(*corev1.Pod)) },
		UpdateFunc: func(old, object any) {
			before, now := old.(*corev1.Pod), object.(*corev1.Pod)
			if before.UID != now.UID {
				p.lose(before)
			}
			p.see(now)
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			p.lose(object.(*corev1.Pod))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch the pods: %w", err)
	}
	return registration, nil
}

func (p *Pods) see(pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if w, known := p.workers[pod.UID]; known {
		w.update(pod)
		return
	}
	w := newWorker(p.Node, pod)
	p.workers[pod.UID] = w
	p.group.Go(func() {
		w.run(p.ctx)
		p.mutex.Lock()
		defer p.mutex.Unlock()
		delete(p.workers, pod.UID)
	})
}

func (p *Pods) lose(pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if w, known := p.workers[pod.UID]; known {
		w.vanish(pod)
	}
}

// Touch notifies the workers whose pods refer to an object that it has changed.
func (p *Pods) Touch(namespace string, object podref.Object) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, w := range p.workers {
		if w.pod.first.Namespace == namespace && podref.RefersTo(w.pod.first, object) {
			w.refresh()
		}
	}
}

// All lists the workers, in no order.
func (p *Pods) All() []*Worker {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Collect(maps.Values(p.workers))
}

// Find returns the worker of a pod by its name; of several, one of which has lost the name already, the youngest.
func (p *Pods) Find(namespace, name string) (found *Worker, known bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, w := range p.workers {
		if w.pod.first.Namespace == namespace && w.pod.first.Name == name &&
			(found == nil || found.pod.first.CreationTimestamp.Before(&w.pod.first.CreationTimestamp)) {
			found = w
		}
	}
	return found, found != nil
}

// Sweep removes what pods have left that went away while this node was down. It is called when all pods are known.
func (p *Pods) Sweep() error {
	entries, err := os.ReadDir(filepath.Join(p.RootDir, "pods"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list the folders of pods: %w", err)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var errs []error
	for _, entry := range entries {
		if _, known := p.workers[types.UID(entry.Name())]; !known {
			errs = append(errs, os.RemoveAll(filepath.Join(p.RootDir, "pods", entry.Name())))
		}
	}
	for _, owner := range p.Addresses.Owners() {
		if _, known := p.workers[types.UID(owner)]; !known {
			errs = append(errs, p.Addresses.Release(owner))
		}
	}
	return errors.Join(errs...)
}
