package observe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/probe/access"
)

// mirrorPause is the time between a watch that has broken and the next.
const mirrorPause = 250 * time.Millisecond

// mirror holds what a cluster has of one kind, by a watch: where something is gets asked many times a second. While the
// watch is broken it knows nothing, and who asks has to ask the API server: that it does not answer must not be hidden.
// With a client of world.Attentive the watch of an API server that is frozen breaks too.
type mirror[T client.Object] struct {
	cluster client.WithWatch
	list    func() client.ObjectList
	options []client.ListOption

	mu    sync.RWMutex
	known map[types.NamespacedName]T // nil while nobody watches
	last  map[types.NamespacedName]T // known when the watch broke; nil while somebody watches
}

// run until ctx ends.
func (m *mirror[T]) run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		defer m.forget()
		_ = m.follow(ctx) // who asks now asks the API server, and hears what is wrong
	}, mirrorPause)
}

func (m *mirror[T]) follow(ctx context.Context) error {
	list := m.list()
	if err := m.cluster.List(ctx, list, m.options...); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	known := map[types.NamespacedName]T{}
	if err := meta.EachListItem(list, func(object runtime.Object) error {
		if one, is := object.(T); is {
			known[client.ObjectKeyFromObject(one)] = one
		}
		return nil
	}); err != nil {
		return fmt.Errorf("read the list: %w", err)
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	stream, err := m.cluster.Watch(ctx, m.list(), append([]client.ListOption{from}, m.options...)...)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	m.mu.Lock()
	m.known, m.last = known, nil
	m.mu.Unlock()
	return access.Events(ctx, stream, m.take)
}

func (m *mirror[T]) take(event watch.Event) error {
	one, is := event.Object.(T)
	if !is {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if event.Type == watch.Deleted {
		delete(m.known, client.ObjectKeyFromObject(one))
	} else {
		m.known[client.ObjectKeyFromObject(one)] = one
	}
	return nil
}

func (m *mirror[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known != nil {
		m.known, m.last = nil, m.known
	}
}

// get an object, which is for reading only. It is not current when nobody watches, or it is not there: the API server
// says which.
func (m *mirror[T]) get(key types.NamespacedName) (one T, current bool) {
	if m == nil {
		return one, false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	one, current = m.known[key]
	return one, current
}

// lastKnown is an object as it was when the watch broke, for reading only; there is none while somebody watches.
func (m *mirror[T]) lastKnown(key types.NamespacedName) (one T, was bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	one, was = m.last[key]
	return one, was
}

// all that a condition selects, for reading only; they are not current when nobody watches.
func (m *mirror[T]) all(is func(T) bool) (found []T, current bool) {
	if m == nil {
		return nil, false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, one := range m.known {
		if is(one) {
			found = append(found, one)
		}
	}
	return found, m.known != nil
}
