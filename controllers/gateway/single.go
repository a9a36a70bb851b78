package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Single is the entry for one shoot whose control plane runs outside any seed. It is as good a holder as the gateway of
// a seed: what it carries is checked against the guard's validity (docs/ownership.md#o2).
type Single struct {
	// Hosts are the public names of the API server, and APIServer its address with the port.
	Hosts     []string
	APIServer string
	// Guard is the base URL of the guard, which is asked with the Credentials once every Interval.
	Guard       string
	Credentials access.Credentials
	Interval    time.Duration
	// Listen takes TLS connections, ProxyListen those with a PROXY protocol header.
	Listen, ProxyListen string
	Clock               ownership.Clock
	Log                 logr.Logger
}

// Run carries connections until ctx is done.
func (s *Single) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	table := newTable(ctx, "gateway-"+uuid.NewString(), s.Clock, s.Interval, s.Log)
	table.guardAccess = func(string) (access.Credentials, error) { return s.Credentials, nil }
	want := &target{namespace: "outside", hosts: s.Hosts, address: s.APIServer, guard: s.Guard}
	if err := table.set(want.namespace, want); err != nil {
		return err
	}
	none := corelisters.NewServiceLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}))
	(&options{listen: s.Listen, proxyListen: s.ProxyListen}).listenAll(ctx, group, table, none)
	return errors.Join(group.Wait(), table.set(want.namespace, nil))
}
