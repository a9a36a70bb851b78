package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/probe/access"
)

// gatheringPace is that of samples of what is watched, and of looks whether it is still to be watched where it is.
var gatheringPace = Pace{Every: time.Second, Timeout: access.WatchTimeout, Overlap: 1}

// storePause is the time between two looks whether the store behind what is watched answers.
const storePause = 5 * time.Second

// source is one kind of object in a shoot.
type source struct {
	what  string
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func sourceOf[L runtime.Object](what string, of interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}) source {
	return source{
		what:  what,
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return of.List(ctx, o) },
		watch: of.Watch,
	}
}

// gathering is what some objects in a shoot say, past every link: sampled, or followed by watches.
type gathering[T comparable] struct {
	kept access.Kept[kubernetes.Interface]

	mu    sync.Mutex
	there []map[string]runtime.Object // by source and name
	last  map[string]T
}

// view says what is gathered, and what is noted of it.
type view[T comparable] struct {
	connect  access.Connector
	sources  func(kubernetes.Interface) []source
	describe func(there []map[string]runtime.Object) map[string]T
	gone     func(name string) T
	note     func(T)
}

// sample lists everything, and notes what has changed.
func (g *gathering[T]) sample(ctx context.Context, v view[T]) error {
	_, client, err := g.reach(ctx, v)
	if err != nil {
		return err
	}
	_, err = g.list(ctx, v, v.sources(client))
	return err
}

// follow lists everything and then watches it until a watch ends, until its store does not answer, or until it is to be
// watched somewhere else; each change is noted.
func (g *gathering[T]) follow(ctx context.Context, v view[T]) error {
	at, client, versions, err := g.begin(ctx, v)
	if err != nil {
		return err
	}
	watches, ctx := errgroup.WithContext(ctx)
	for i, s := range v.sources(client) {
		watches.Go(func() error { return g.watch(ctx, v, i, s, versions[i]) })
	}
	watches.Go(func() error { return stored(ctx, client) })
	watches.Go(func() error { return stays(ctx, v.connect, at) })
	if err := watches.Wait(); !errors.Is(err, errOver) {
		return err
	}
	return nil // who looks again sees more, or why not
}

// errOver ends a watch of which nothing is wrong.
var errOver = errors.New("the watch is over")

func (g *gathering[T]) begin(ctx context.Context, v view[T]) (access.Key, kubernetes.Interface, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, gatheringPace.Timeout)
	defer cancel()
	at, client, err := g.reach(ctx, v)
	if err != nil {
		return at, nil, nil, err
	}
	versions, err := g.list(ctx, v, v.sources(client))
	return at, client, versions, err
}

func (g *gathering[T]) reach(ctx context.Context, v view[T]) (access.Key, kubernetes.Interface, error) {
	config, err := reachable(ctx, v.connect)
	if err != nil {
		return access.Key{}, nil, err
	}
	client, err := g.kept.Get(config, access.Watching)
	if err != nil {
		return access.Key{}, nil, err
	}
	return access.KeyOf(config), client, nil
}

// list gives the resource versions of the lists.
func (g *gathering[T]) list(ctx context.Context, v view[T], sources []source) ([]string, error) {
	there, versions := make([]map[string]runtime.Object, len(sources)), make([]string, len(sources))
	for i, s := range sources {
		list, err := s.list(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", s.what, err)
		}
		there[i] = map[string]runtime.Object{}
		err = meta.EachListItem(list, func(object runtime.Object) error {
			name, err := meta.NewAccessor().Name(object)
			there[i][name] = object
			return err
		})
		if err == nil {
			versions[i], err = meta.NewAccessor().ResourceVersion(list)
		}
		if err != nil {
			return nil, fmt.Errorf("read the list of %s: %w", s.what, err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.there = there
	g.noteChanges(v)
	return versions, nil
}

func (g *gathering[T]) watch(ctx context.Context, v view[T], i int, s source, from string) error {
	stream, err := s.watch(ctx, metav1.ListOptions{ResourceVersion: from})
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.what, err)
	}
	err = access.Events(ctx, stream, func(event watch.Event) error { return g.take(v, i, event) })
	if errors.Is(err, access.ErrWatchEnded) {
		return errOver
	}
	return fmt.Errorf("watch %s: %w", s.what, err)
}

func (g *gathering[T]) take(v view[T], i int, event watch.Event) error {
	name, err := meta.NewAccessor().Name(event.Object)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if event.Type == watch.Deleted {
		delete(g.there[i], name)
	} else {
		g.there[i][name] = event.Object
	}
	g.noteChanges(v)
	return nil
}

// noteChanges notes what has changed.
func (g *gathering[T]) noteChanges(v view[T]) {
	seen := v.describe(g.there)
	for _, name := range changed(g.last, seen) {
		now, there := seen[name]
		if !there {
			now = v.gone(name)
		}
		v.note(now)
	}
	g.last = seen
}

// stays until the shoot is to be reached in another way: its former API server may go on for long, and its watches with
// it.
func stays(ctx context.Context, connect access.Connector, at access.Key) error {
	return wait.PollUntilContextCancel(ctx, gatheringPace.Every, false, func(ctx context.Context) (bool, error) {
		config, err := reachable(ctx, connect)
		if err == nil && access.KeyOf(config) != at {
			err = errOver
		}
		return false, err
	})
}

// stored reads now and then what only a working store can answer, until it does not: an API server whose etcd stands
// still keeps its watches open and says nothing on them, as one to which nothing happens.
func stored(ctx context.Context, client kubernetes.Interface) error {
	return wait.PollUntilContextCancel(ctx, storePause, false, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, gatheringPace.Timeout)
		defer cancel()
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("read from the store of what is watched: %w", err)
		}
		return false, nil
	})
}

func reachable(ctx context.Context, connect access.Connector) (*rest.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, gatheringPace.Timeout)
	defer cancel()
	config, err := connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	return config, nil
}

// of a source are these objects.
func of[T runtime.Object](there map[string]runtime.Object) (objects []T) {
	for _, object := range there {
		if one, is := object.(T); is {
			objects = append(objects, one)
		}
	}
	return objects
}

// changed are the names under which something is new, gone or other than it was, sorted.
func changed[T comparable](before, after map[string]T) []string {
	names := map[string]bool{}
	for name, was := range before {
		if is, there := after[name]; !there || is != was {
			names[name] = true
		}
	}
	for name := range after {
		if _, known := before[name]; !known {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
