package environment

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// published is what the gardenlets publish of shoots in the garden: the authorities that links to shoots trust, by
// public name, and nothing else; and the kubeconfigs of their users.
type published struct {
	mu    sync.Mutex
	pools map[string]*x509.CertPool
}

// roots is the pool for a host; an empty one, which trusts nobody, while none is published.
func (p *published) roots(host string) *x509.CertPool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pool, found := p.pools[host]; found {
		return pool
	}
	return x509.NewCertPool()
}

// take keeps the authority of a shoot. It stays when the shoot is gone: it names nobody any more.
func (p *published) take(authority *corev1.ConfigMap) {
	pool, hosts := x509.NewCertPool(), authority.Data[shootaccess.KeyHosts]
	if hosts == "" || !pool.AppendCertsFromPEM([]byte(authority.Data["ca.crt"])) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pools == nil {
		p.pools = map[string]*x509.CertPool{}
	}
	for host := range strings.SplitSeq(hosts, ",") {
		p.pools[host] = pool
	}
}

// Roles by which the gardenlets mark what they publish.
const (
	roleAuthority  = "ca-cluster"
	roleKubeconfig = "kubeconfig"
)

// watch keeps in step with the garden for as long as the landscape lives.
func (p *published) watch(ctx context.Context, l Landscape) error {
	config, err := observer(l, landscape.Garden)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for what shoots publish: %w", err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = constants.GardenRole + " in (" + roleAuthority + "," + roleKubeconfig + ")"
		}))
	authorities, accesses := factory.Core().V1().ConfigMaps().Informer(), factory.Core().V1().Secrets().Informer()
	write := func(access *corev1.Secret) {
		if err := writeUserKubeconfig(l, access); err != nil {
			klog.Background().Error(err, "A shoot's kubeconfig is not at hand", "shoot", access.Labels[constants.ShootName])
		}
	}
	if err := errors.Join(onChange(authorities, p.take), onChange(accesses, write)); err != nil {
		return err
	}
	l.Go(func(ctx context.Context) {
		factory.StartWithContext(ctx)
		<-ctx.Done()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(ctx.Done(), authorities.HasSynced, accesses.HasSynced) {
		return fmt.Errorf("read what shoots publish: %w", context.Cause(ctx))
	}
	return nil
}

func onChange[T any](informer cache.SharedIndexInformer, do func(T)) error {
	handle := func(object any) {
		if typed, ok := object.(T); ok {
			do(typed)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: handle, UpdateFunc: func(_, object any) { handle(object) },
	})
	if err != nil {
		return fmt.Errorf("watch what shoots publish: %w", err)
	}
	return nil
}

// writeUserKubeconfig makes the kubeconfig of a shoot fit for this machine: the shoot's name is known to no resolver
// here, so it goes by link(user, shoots). `transplant kubeconfig SHOOT` prints it.
func writeUserKubeconfig(l Landscape, access *corev1.Secret) error {
	kubeconfig, err := clientcmd.Load(access.Data[keyKubeconfig])
	if err != nil {
		return fmt.Errorf("read the kubeconfig of shoot %q: %w", access.Labels[constants.ShootName], err)
	}
	proxy, err := l.Links().Proxy(world.User)
	if err != nil {
		return err
	}
	for _, cluster := range kubeconfig.Clusters {
		cluster.ProxyURL = proxy.URL()
		cluster.CertificateAuthorityData = bytes.Join([][]byte{cluster.CertificateAuthorityData, l.Links().CA()},
			[]byte("\n"))
	}
	content, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return fmt.Errorf("encode the kubeconfig of shoot %q: %w", access.Labels[constants.ShootName], err)
	}
	return l.Dir().WriteKubeconfig(world.User, access.Labels[constants.ShootName], content)
}

// AccessLabels select the Secrets of the garden that have the access to shoots.
func AccessLabels() client.MatchingLabels {
	return client.MatchingLabels{constants.GardenRole: roleKubeconfig}
}

// UsersAccess is the access that a shoot's users get, by its external name if it has one.
func UsersAccess(shoot string, access *corev1.Secret) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(access.Data[keyKubeconfig])
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of shoot %q: %w", shoot, err)
	}
	return config, nil
}
