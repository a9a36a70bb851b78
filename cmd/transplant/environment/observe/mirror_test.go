package observe

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
)

// watchedSeed is a seed whose API server a test can break, and which counts how often it is asked for pods.
type watchedSeed struct {
	client.WithWatch
	asked atomic.Int64
	lost  atomic.Bool
	open  atomic.Pointer[ending]
}

// ending is a watch that can be ended as if its connection had broken.
type ending struct {
	watch.Interface
	events chan watch.Event
	cut    context.CancelFunc
}

func (e *ending) ResultChan() <-chan watch.Event { return e.events }

func newWatchedSeed(objects ...client.Object) *watchedSeed {
	s := &watchedSeed{}
	refused := errors.New("connection refused")
	s.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithObjects(objects...).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			s.asked.Add(1)
			if s.lost.Load() {
				return refused
			}
			return c.List(ctx, list, o...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) (watch.Interface,
			error) {
			if s.lost.Load() {
				return nil, refused
			}
			ctx, cut := context.WithCancel(ctx)
			inner, err := c.Watch(ctx, list, o...)
			if err != nil {
				cut()
				return nil, err
			}
			e := &ending{Interface: inner, events: make(chan watch.Event), cut: cut}
			go func() {
				defer close(e.events)
				for {
					select {
					case <-ctx.Done():
						return
					case event := <-inner.ResultChan():
						select {
						case e.events <- event:
						case <-ctx.Done():
							return
						}
					}
				}
			}()
			s.open.Store(e)
			return e, nil
		},
	})
	return s
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never comes that %s", what)
		}
	}
}

func etcdAt(address string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd-main-0", Namespace: "shoot--p--alpha",
			Labels: map[string]string{"role": "etcd-main"}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address},
	}
}

// Probes find pods without asking, follow every change, and hear that a seed is lost as if they had asked it.
func TestProbesFindPodsByAWatch(t *testing.T) {
	t.Parallel()
	seed := newWatchedSeed(etcdAt("127.0.0.7"))
	o := &Observer{Landscape: &embedded.Landscape{}, SeedClients: map[string]client.Client{"a": seed}}
	o.where = newLocations(fake.NewClientBuilder().WithScheme(environment.Scheme()).Build(),
		map[string]client.WithWatch{"a": seed})
	o.where.follow()
	t.Cleanup(o.where.end)
	find := func() (string, error) {
		pod, err := o.knownPod(t.Context(), "a", "alpha", "etcd-main")
		if pod == nil {
			return "", err
		}
		return pod.Status.PodIP, err
	}
	current := func() bool {
		_, is := o.where.pods["a"].all(func(*corev1.Pod) bool { return true })
		return is
	}
	eventually(t, "the pods are watched", current)
	asked := seed.asked.Load()
	for range 20 {
		if at, err := find(); err != nil || at != "127.0.0.7" {
			t.Fatalf("the pod is at %q, %v", at, err)
		}
	}
	if more := seed.asked.Load() - asked; more != 0 {
		t.Errorf("20 looks asked the seed %d times", more)
	}
	moved := etcdAt("127.0.0.8")
	if err := seed.Get(t.Context(), client.ObjectKeyFromObject(moved), moved); err != nil {
		t.Fatal(err)
	}
	moved.Status.PodIP = "127.0.0.8"
	if err := seed.Status().Update(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod has moved", func() bool { at, err := find(); return err == nil && at == "127.0.0.8" })

	seed.lost.Store(true)
	seed.open.Load().cut()
	eventually(t, "the watch is known to be broken", func() bool { return !current() })
	if at, err := find(); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("on a lost seed the pod is at %q, %v", at, err)
	}
	seed.lost.Store(false)
	if at, err := find(); err != nil || at != "127.0.0.8" {
		t.Errorf("before it is watched again the pod is at %q, %v", at, err)
	}
	if err := seed.Delete(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is gone", func() bool { at, err := find(); return current() && err == nil && at == "" })
}

// The access of a shoot and the seed that it is on come from watches too; what is not there is asked for.
func TestAccessIsFoundByAWatch(t *testing.T) {
	t.Parallel()
	access := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "alpha.kubeconfig", Namespace: "garden-p",
			Labels: environment.AccessLabels()}, Data: map[string][]byte{"token": []byte("one")},
	}
	asked := atomic.Int64{}
	garden := interceptor.NewClient(fake.NewClientBuilder().WithScheme(environment.Scheme()).WithObjects(access).Build(),
		interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
				o ...client.GetOption) error {
				asked.Add(1)
				return c.Get(ctx, key, object, o...)
			},
		})
	o := &Observer{Landscape: &embedded.Landscape{}, Garden: garden, where: newLocations(garden, nil)}
	o.where.follow()
	t.Cleanup(o.where.end)
	eventually(t, "the access is watched", func() bool {
		_, is := o.where.access.get(client.ObjectKeyFromObject(access))
		return is
	})
	if found, err := o.access(t.Context(), "alpha"); err != nil || string(found.Data["token"]) != "one" ||
		asked.Load() != 0 {
		t.Errorf("the access is %+v, %v; the garden was asked %d times", found, err, asked.Load())
	}
	if _, err := o.access(t.Context(), "beta"); err == nil || asked.Load() != 1 {
		t.Errorf("of a shoot that is not there: %v; the garden was asked %d times", err, asked.Load())
	}
}

// Users keep what the garden has said of a shoot while it is away; who looks at the control plane hears that it is.
func TestAccess_GardenIsAway_IsKeptByUsers(t *testing.T) {
	t.Parallel()
	access := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "alpha.kubeconfig", Namespace: "garden-p",
			Labels: environment.AccessLabels()}, Data: map[string][]byte{"token": []byte("one")},
	}
	garden := newWatchedSeed(access)
	away := interceptor.NewClient(garden, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			o ...client.GetOption) error {
			if garden.lost.Load() {
				return errors.New("connection refused")
			}
			return c.Get(ctx, key, object, o...)
		},
	})
	o := &Observer{Landscape: &embedded.Landscape{}, Garden: away, where: newLocations(nil, nil)}
	o.where.access.cluster = away
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { o.where.access.run(ctx) })
	t.Cleanup(func() {
		stop()
		watching.Wait()
	})
	current := func() bool {
		_, is := o.where.access.get(client.ObjectKeyFromObject(access))
		return is
	}
	token := func(of func(context.Context, string) (*corev1.Secret, error)) string {
		found, err := of(t.Context(), "alpha")
		if err != nil {
			return err.Error()
		}
		return string(found.Data["token"])
	}
	eventually(t, "the access is watched", current)
	garden.lost.Store(true)
	garden.open.Load().cut()
	eventually(t, "the watch is known to be broken", func() bool { return !current() })
	if got := token(o.keptAccess); got != "one" {
		t.Errorf("users have %q", got)
	}
	if got := token(o.access); !strings.Contains(got, "connection refused") {
		t.Errorf("who asks the garden hears %q", got)
	}
	access.Data["token"] = []byte("two")
	access.ResourceVersion = ""
	if err := garden.Update(t.Context(), access); err != nil {
		t.Fatal(err)
	}
	garden.lost.Store(false) // this watch would miss a change between its list and its beginning
	eventually(t, "users have what the garden says now", func() bool { return current() && token(o.keptAccess) == "two" })
	if err := garden.Delete(t.Context(), access); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nobody has the access that is gone", func() bool {
		return !current() && strings.Contains(token(o.keptAccess), "not found")
	})
}

// What one list selects, another that is made at the same time does not.
func TestCachedList_SelectorsAreNotShared(t *testing.T) {
	t.Parallel()
	selected := (&client.ListOptions{}).ApplyOptions([]client.ListOption{client.MatchingLabels{"role": "etcd"},
		environment.CachedList()}).AsListOptions()
	all := (&client.ListOptions{}).ApplyOptions([]client.ListOption{environment.CachedList()}).AsListOptions()
	if selected.LabelSelector != "role=etcd" || all.LabelSelector != "" || all.ResourceVersion != "0" {
		t.Errorf("one selects %q, the other, at version %q, %q", selected.LabelSelector, all.ResourceVersion,
			all.LabelSelector)
	}
}
