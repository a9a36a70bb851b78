package environment

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/sim/world"
)

// Scheme knows everything that scenarios look at, in garden, seeds and shoots.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, gardencorev1beta1.AddToScheme,
		extensionsv1alpha1.AddToScheme, machinev1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// observer gives the observer's access to a cluster.
func observer(l Landscape, cluster string) (*rest.Config, error) {
	c, err := l.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	return c.Connect(clusters.Observer)
}

// ObserverClient gives the observer's client of a cluster.
func ObserverClient(l Landscape, cluster string) (client.WithWatch, error) {
	config, err := observer(l, cluster)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400
	attentive, err := world.Attentive(config)
	if err != nil {
		return nil, fmt.Errorf("make the observer's HTTP client for cluster %q: %w", cluster, err)
	}
	// The API warns about fields without effect. Our own manifests have some on purpose, for readers of the objects.
	config.WarningHandler = rest.NoWarnings{}
	return client.NewWithWatch(config, client.Options{Scheme: Scheme(), HTTPClient: attentive})
}

// CachedList lets an API server list from its memory, without its etcd. It is made anew for each list: the client
// writes the selectors of a list into it, where the next one, or one at the same time, would find them.
func CachedList() *client.ListOptions {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
}
