package environment

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
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
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/authorities"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/sim/world"
)

// Landscape is what the environment needs of a backend.
type Landscape interface {
	clusters.Landscape
	Surroundings
	// Links are the links of actors, which Authorities sign for.
	Links() *switchboard.Board
	Authorities() *authorities.Landscape
	// Networks are the address ranges of a cluster's pods and services.
	Networks(cluster string) (pods, services string, err error)
	// Reach is where this process finds a port of a pod, past all links.
	Reach(ctx context.Context, cluster string, pod *corev1.Pod, port int) (address string, err error)
	// Usage is what everything that the landscape runs has used, and this process if it has started that.
	Usage() ([]process.Usage, error)
	// Dir is the run directory. It keeps the kubeconfigs of actors, for Cluster.Connect and for people.
	Dir() rundir.Dir
	// Go runs work until Stop ends its context, which waits for it.
	Go(work func(ctx context.Context))
	Stop(ctx context.Context) error
}

// Surroundings are where companions live.
type Surroundings interface {
	// CloudAddresses says where the simulated cloud listens, and where others find it.
	CloudAddresses() clusters.CloudAddresses
	// MetricsAddress says where a companion serves its metrics, and where others find them.
	MetricsAddress(companion string) clusters.MetricsAddress
	// ControlPlane is where a companion finds the multi-call binary with etcd and the Kubernetes programs.
	ControlPlane() string
}

var _ Landscape = &embedded.Landscape{}

// Scheme knows everything that scenarios look at, in garden, seeds and shoots.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, gardencorev1beta1.AddToScheme,
		extensionsv1alpha1.AddToScheme, machinev1alpha1.AddToScheme, seedmanagementv1alpha1.AddToScheme,
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

// Seeds are the names of a landscape's seeds.
func Seeds(l Landscape) []string {
	var names []string
	for _, c := range l.Clusters() {
		if c.Role() == clusters.Seed {
			names = append(names, c.Name())
		}
	}
	return names
}
