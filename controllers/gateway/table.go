package gateway

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// table holds the routes, one for each namespace of a shoot.
type table struct {
	ctx      context.Context
	name     string // of this gateway as a holder
	clock    ownership.Clock
	wall     clock.PassiveClock // for deadlines of connections
	interval time.Duration
	log      logr.Logger
	metrics  *metrics
	// guardAccess finds the credentials for the guard of a namespace, as they are now.
	guardAccess func(namespace string) (access.Credentials, error)

	mu         sync.RWMutex
	namespaces map[string]*route
	hosts      map[string]*route
}

func newTable(ctx context.Context, name string, boot ownership.Clock, interval time.Duration, log logr.Logger) *table {
	return &table{ctx: ctx, name: name, clock: boot, wall: clock.RealClock{}, interval: interval, log: log,
		metrics: newMetrics(), namespaces: map[string]*route{}, hosts: map[string]*route{}}
}

// set makes the route of the namespace what the target says; nil removes it. A changed route is a new one: what was
// open under the old one is cut.
func (t *table) set(namespace string, want *target) error {
	t.mu.Lock()
	old := t.namespaces[namespace]
	if (old == nil && want == nil) || (old != nil && want != nil && old.equal(*want)) {
		t.mu.Unlock()
		return nil
	}
	delete(t.namespaces, namespace)
	var err error
	if want != nil {
		err = t.addLocked(*want)
	}
	t.reindexLocked()
	t.mu.Unlock()
	if old != nil {
		old.remove()
	}
	t.log.Info("Route changed", "namespace", namespace, "present", want != nil && err == nil)
	return err
}

func (t *table) addLocked(want target) error {
	r, err := newRoute(t.ctx, want, t)
	if err != nil {
		return fmt.Errorf("make the route of namespace %q: %w", want.namespace, err)
	}
	t.namespaces[want.namespace] = r
	return nil
}

// reindexLocked maps hosts to routes. Of several namespaces that want one host, the first by name has it.
func (t *table) reindexLocked() {
	clear(t.hosts)
	for _, namespace := range slices.Sorted(maps.Keys(t.namespaces)) {
		for _, host := range t.namespaces[namespace].hosts {
			if _, taken := t.hosts[host]; !taken {
				t.hosts[host] = t.namespaces[namespace]
			}
		}
	}
}

// byHost finds the route of a server name; nil if there is none.
func (t *table) byHost(host string) *route {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.hosts[strings.ToLower(host)]
}

// byNamespace finds the route of a namespace; nil if there is none.
func (t *table) byNamespace(namespace string) *route {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.namespaces[namespace]
}

// byIP finds the route whose API server has this address; nil if there is none.
func (t *table) byIP(ip net.IP) *route {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, r := range t.namespaces {
		if host, _, err := net.SplitHostPort(r.address); err == nil && ip.Equal(net.ParseIP(host)) {
			return r
		}
	}
	return nil
}
