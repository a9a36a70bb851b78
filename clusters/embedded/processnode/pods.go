package processnode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// pods has a worker for each pod of this node. Its methods may be called from any goroutine.
type pods struct {
	*node
	ctx context.Context // of the workers: an informer's handlers get none

	mutex   sync.Mutex
	workers map[types.UID]*worker
	group   sync.WaitGroup
}

// watch makes the workers follow the pods of an informer that sees this node's only.
func (p *pods) watch(informer cache.SharedIndexInformer) (cache.ResourceEventHandlerRegistration, error) {
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

func (p *pods) see(pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if w, known := p.workers[pod.UID]; known {
		w.update(pod)
		return
	}
	w := newWorker(p.node, pod)
	p.workers[pod.UID] = w
	p.group.Go(func() {
		w.run(p.ctx)
		p.mutex.Lock()
		defer p.mutex.Unlock()
		delete(p.workers, pod.UID)
	})
}

func (p *pods) lose(pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if w, known := p.workers[pod.UID]; known {
		w.vanish(pod)
	}
}

// touch notifies the workers whose pods refer to an object that it has changed.
func (p *pods) touch(namespace string, object reference) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, w := range p.workers {
		if w.namespace == namespace && refersTo(w.first, object) {
			w.refresh()
		}
	}
}

// all lists the workers, in no order.
func (p *pods) all() []*worker {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Collect(maps.Values(p.workers))
}

// find returns the worker of a pod by its name; of several, one of which has lost the name already, the youngest.
func (p *pods) find(namespace, name string) (found *worker, known bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, w := range p.workers {
		if w.namespace == namespace && w.first.Name == name &&
			(found == nil || found.first.CreationTimestamp.Before(&w.first.CreationTimestamp)) {
			found = w
		}
	}
	return found, found != nil
}

// sweep removes what pods have left that went away while this node was down. It is called when all pods are known.
func (p *pods) sweep() error {
	entries, err := os.ReadDir(filepath.Join(p.config.RootDir, "pods"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list the folders of pods: %w", err)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var errs []error
	for _, entry := range entries {
		if _, known := p.workers[types.UID(entry.Name())]; !known {
			errs = append(errs, os.RemoveAll(filepath.Join(p.config.RootDir, "pods", entry.Name())))
		}
	}
	for _, owner := range p.addresses.Owners() {
		if _, known := p.workers[types.UID(owner)]; !known {
			errs = append(errs, p.addresses.Release(owner))
		}
	}
	return errors.Join(errs...)
}
