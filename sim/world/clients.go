package world

import (
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// requestTimeout bounds the observer's requests: what takes longer is unknown.
const requestTimeout = 5 * time.Second

// Clients are the observer's clients, made when first asked for and kept.
type Clients struct {
	world  World
	scheme *runtime.Scheme

	mu   sync.Mutex
	kept map[string]client.WithWatch
}

// NewClients for a world.
func NewClients(w World) (*Clients, error) {
	c := &Clients{world: w, scheme: runtime.NewScheme(), kept: map[string]client.WithWatch{}}
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, coordinationv1.AddToScheme, gardencorev1beta1.AddToScheme,
	} {
		if err := add(c.scheme); err != nil {
			return nil, fmt.Errorf("build the scheme of the observer: %w", err)
		}
	}
	return c, nil
}

// Cluster is the client for the garden or a seed.
func (c *Clients) Cluster(name string) (client.WithWatch, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.kept[name]; ok {
		return found, nil
	}
	config, err := c.world.Connect(name)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %q: %w", name, err)
	}
	free := Unlimited(config)
	attentive, err := Attentive(free)
	if err != nil {
		return nil, fmt.Errorf("make the HTTP client for cluster %q: %w", name, err)
	}
	made, err := client.NewWithWatch(free, client.Options{Scheme: c.scheme, HTTPClient: attentive})
	if err != nil {
		return nil, fmt.Errorf("make the client for cluster %q: %w", name, err)
	}
	c.kept[name] = made
	return made, nil
}

// Unlimited is the config without client-side rate limits and with room for one slow answer.
func Unlimited(config *rest.Config) *rest.Config {
	free := rest.CopyConfig(config)
	free.QPS = -1
	free.UserAgent = "transplant-observer"
	return free
}
