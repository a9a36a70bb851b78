package stage

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
)

// shootRoots are the authorities that links to shoots trust, per public name: what the gardenlets publish in the
// garden, and nothing else.
type shootRoots struct {
	mu    sync.Mutex
	pools map[string]*x509.CertPool
}

// of is the pool for a host; an empty one, which trusts nobody, while none is published.
func (r *shootRoots) of(host string) *x509.CertPool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if pool, found := r.pools[host]; found {
		return pool
	}
	return x509.NewCertPool()
}

func (r *shootRoots) set(host, pem string) {
	pool := x509.NewCertPool()
	if host == "" || !pool.AppendCertsFromPEM([]byte(pem)) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pools == nil {
		r.pools = map[string]*x509.CertPool{}
	}
	r.pools[host] = pool
}

// watch keeps the pools in step with the garden for as long as the process lives. A pool stays when its shoot is gone:
// it names nobody any more.
func (r *shootRoots) watch(ctx context.Context, l *embedded.Landscape) error {
	garden, err := l.Cluster(embedded.GardenName)
	if err != nil {
		return err
	}
	config, err := garden.Connect(clusters.Observer)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for the shoots' authorities: %w", err)
	}
	ctx = context.WithoutCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = "gardener.cloud/role=ca-cluster"
	}))
	take := func(object any) {
		if published, ok := object.(*corev1.ConfigMap); ok {
			r.set(published.Data["host"], published.Data["ca.crt"])
		}
	}
	_, err = factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: take, UpdateFunc: func(_, object any) { take(object) },
	})
	if err != nil {
		return fmt.Errorf("watch the shoots' authorities: %w", err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return nil
}
