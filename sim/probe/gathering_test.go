package probe_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// door is a way to a server that counts lists and watches, and can be shut; or stand still but for its watches, as one
// does whose etcd stands still.
type door struct {
	lists, watches atomic.Int32
	still          atomic.Bool
	server         *httptest.Server
}

func doorTo(t *testing.T, connect access.Connector) *door {
	t.Helper()
	config, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	behind, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	d := &door{}
	pass := httputil.NewSingleHostReverseProxy(behind)
	pass.FlushInterval = -1
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("watch"):
			w = &begun{ResponseWriter: w, once: sync.OnceFunc(func() { d.watches.Add(1) })}
		case d.still.Load():
			<-r.Context().Done()
			return
		case r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/namespaces/kube-system"):
			d.lists.Add(1)
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		d.server.CloseClientConnections()
		d.server.Close()
	})
	return d
}

// begun counts a watch once its client has been answered: one that is cut off before that is asked for again by the
// client's transport, and nobody notices.
type begun struct {
	http.ResponseWriter
	once func()
}

func (b *begun) Flush() {
	b.ResponseWriter.(http.Flusher).Flush()
	b.once()
}

// way goes through one of two doors, or is not known.
type way struct {
	host atomic.Pointer[string]
}

func (w *way) through(d *door) { w.host.Store(&d.server.URL) }
func (w *way) connect(context.Context) (*rest.Config, error) {
	host := w.host.Load()
	if host == nil {
		return nil, errors.New("it is on no seed")
	}
	return &rest.Config{Host: *host}, nil
}

// following follows what is watched until the test ends; the errors come one by one, nil when there is only to begin
// anew.
func following(t *testing.T, p probe.Watched, j *timeline.Journal) <-chan error {
	t.Helper()
	ended := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			err := p.Follow(ctx, j)
			select {
			case ended <- err:
			case <-ctx.Done():
			}
		}
	}()
	return ended
}

func sawNode(j *timeline.Journal, is func(timeline.NodeSeen) bool) func() bool {
	return func() bool {
		for _, seen := range timeline.Of[timeline.NodeSeen](j.Events()) {
			if is(seen) {
				return true
			}
		}
		return false
	}
}

// What changes is recorded as it comes, by one list and one watch of each kind.
func TestNodesAreWatched(t *testing.T) {
	t.Parallel()
	_, _, straight := worldtest.Ready(t, 2)
	d, w, j := doorTo(t, straight), &way{}, journal()
	w.through(d)
	nodes := &probe.Nodes{Shoot: "alpha", Connect: w.connect}
	following(t, nodes, j)
	worldtest.Until(t, func() bool { return d.watches.Load() == 2 })
	c := worldtest.ClientOf(t, straight)
	const then = "2030-01-01T00:00:00.000000Z"
	if _, err := c.CoordinationV1().Leases("kube-node-lease").Patch(t.Context(), "node-0", types.MergePatchType,
		[]byte(`{"spec":{"renewTime":"`+then+`"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	worldtest.Until(t, sawNode(j, func(n timeline.NodeSeen) bool {
		return n.Name == "node-0" && n.Renewed == "2030-01-01T00:00:00Z"
	}))
	if err := c.CoreV1().Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	worldtest.Until(t, sawNode(j, func(n timeline.NodeSeen) bool { return n.Name == "node-1" && n.Gone }))
	if lists, watches := d.lists.Load(), d.watches.Load(); lists != 2 || watches != 2 {
		t.Errorf("%d lists and %d watches sent it, want one of nodes and one of leases", lists, watches)
	}
}

// A watch that breaks is begun anew, with what has changed meanwhile; what cannot be reached is an error.
func TestABrokenWatchIsBegunAnew(t *testing.T) {
	t.Parallel()
	_, _, straight := worldtest.Ready(t, 2)
	d, w, j := doorTo(t, straight), &way{}, journal()
	w.through(d)
	ended := following(t, &probe.Nodes{Shoot: "alpha", Connect: w.connect}, j)
	worldtest.Until(t, func() bool { return d.watches.Load() == 2 })
	d.server.CloseClientConnections()
	if err := <-ended; err != nil {
		t.Errorf("a broken watch is an error before anybody has tried again: %v", err)
	}
	worldtest.Until(t, func() bool { return d.watches.Load() == 4 })
	w.host.Store(nil)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "it is on no seed") {
		t.Errorf("nobody knows where it is: %v", err)
	}
	d.server.Close()
	w.through(d)
	for err := range ended {
		if err == nil || strings.Contains(err.Error(), "it is on no seed") {
			continue // it had begun before
		}
		if !strings.Contains(err.Error(), "list nodes: ") || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("nobody is there: %v", err)
		}
		return
	}
}

// Who follows finds out where the shoot is before anybody is asked again.
func TestGatheringAsksEachAddressOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = connection.Close()
	}))
	t.Cleanup(server.Close)
	connect := func(context.Context) (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }
	err := (&probe.Nodes{Shoot: "alpha", Connect: connect}).Follow(t.Context(), journal())
	if err == nil || !strings.Contains(err.Error(), "list nodes: ") {
		t.Errorf("nobody answers: %v", err)
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("asked %d times", got)
	}
}

// A control plane that has been left may go on: what it says is of no interest any more.
func TestAShootThatMovesIsWatchedWhereItIs(t *testing.T) {
	t.Parallel()
	_, _, before := worldtest.Ready(t, 2)
	_, _, after := worldtest.Ready(t, 1)
	old, fresh, w, j := doorTo(t, before), doorTo(t, after), &way{}, journal()
	w.through(old)
	ended := following(t, &probe.Nodes{Shoot: "alpha", Connect: w.connect}, j)
	worldtest.Until(t, func() bool { return old.watches.Load() == 2 })
	w.through(fresh)
	if err := <-ended; err != nil {
		t.Errorf("a move is an error: %v", err)
	}
	worldtest.Until(t, sawNode(j, func(n timeline.NodeSeen) bool { return n.Name == "node-1" && n.Gone }))
	worldtest.Until(t, func() bool { return fresh.watches.Load() == 2 })
}

// Watches on an API server whose etcd stands still are open and silent: that nothing is seen is reported all the same.
func TestFollow_StoreStandsStill_EndsWithAnError(t *testing.T) {
	t.Parallel()
	_, _, straight := worldtest.Ready(t, 1)
	d, w, j := doorTo(t, straight), &way{}, journal()
	w.through(d)
	ended := following(t, &probe.Nodes{Shoot: "alpha", Connect: w.connect}, j)
	worldtest.Until(t, func() bool { return d.watches.Load() == 2 })
	d.still.Store(true)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "read from the store of what is watched: ") {
		t.Errorf("while it stands still: %v", err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "list nodes: ") {
		t.Errorf("as long as it stands still: %v", err)
	}
	d.still.Store(false)
	worldtest.Until(t, func() bool {
		select {
		case err := <-ended:
			t.Logf("what had begun before: %v", err)
		default:
		}
		return d.watches.Load() == 4
	})
}
