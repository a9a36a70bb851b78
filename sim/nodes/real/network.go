package real

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/apiproxy"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/service"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/link/forward"
)

// network is what the nodes of one shoot have in common: the addresses of its Services, and that of its API server. All
// of them are addresses of this machine, so that one forwarder does what kube-proxy does on each node, and one proxy
// what apiserver-proxy does. They live on when a node dies.
type network struct {
	plan      address.Cluster
	balancers netip.Prefix
	resolve   forward.ResolveFunc
	clock     clock.Clock
	log       logr.Logger

	proxy *apiproxy.Proxy
	using Access
	end   context.CancelFunc
	group sync.WaitGroup
}

// apiServerIn is where pods find the API server of their cluster. The port of the Service default/kubernetes is beyond
// what an ordinary user may listen on.
func apiServerIn(plan address.Cluster) netip.AddrPort {
	return netip.AddrPortFrom(plan.Services.Addr().Next(), program.APIServerPort)
}

// keep it as this access has it: with another one the Services are watched anew.
func (n *network) keep(access Access) error {
	if n.proxy == nil {
		server, err := url.Parse(access.Server)
		if err != nil {
			return fmt.Errorf("parse the address of the API server: %w", err)
		}
		n.proxy, err = apiproxy.Open(apiServerIn(n.plan).String(), server.Hostname(), n.resolve, n.log)
		if err != nil {
			return err
		}
	}
	if n.end != nil && n.using == access {
		return nil
	}
	n.unwatch()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(access.Kubeconfig))
	if err != nil {
		return fmt.Errorf("read the kubeconfig of the nodes: %w", err)
	}
	config.QPS, config.UserAgent = -1, "kube-proxy"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client of the nodes: %w", err)
	}
	n.using = access
	return n.forward(client)
}

// forward the Services until unwatch.
func (n *network) forward(client kubernetes.Interface) error {
	ctx, end := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(client, 0)
	services, pods := factory.Core().V1().Services(), factory.Core().V1().Pods()
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	forwarder := &service.Forwarder{
		Client: client, Services: services.Lister(), Pods: pods.Lister(), ServiceAddresses: n.plan.Services,
		Balanced:  n.balancers,
		APIServer: apiServerIn(n.plan).String(), Log: n.log.WithName("service"), Clock: n.clock,
		Recorder: events.NewRecorder(clientgoscheme.Scheme, corev1.EventSource{Component: "kube-proxy"}),
	}
	if err := forwarder.Watch(services.Informer(), pods.Informer()); err != nil {
		end()
		return err
	}
	n.end = end
	factory.Start(ctx.Done())
	n.group.Go(func() {
		defer events.Shutdown()
		for _, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				return // it has ended before
			}
		}
		forwarder.Run(ctx)
	})
	return nil
}

func (n *network) unwatch() {
	if n.end != nil {
		n.end()
		n.group.Wait()
		n.end = nil
	}
}

// stop gives the addresses back.
func (n *network) stop() error {
	n.unwatch()
	if n.proxy == nil {
		return nil
	}
	defer func() { n.proxy = nil }()
	return n.proxy.Close()
}
