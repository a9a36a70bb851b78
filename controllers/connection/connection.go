// Package connection says how the programs of the product connect to API servers. It knows no kind and keeps nothing.
package connection

import (
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CallTimeout bounds one call of a program that works for one shoot, so that one that was swallowed does not hold up
// other objects.
const CallTimeout = 20 * time.Second

// Load reads a kubeconfig, or, without a path, what a pod has. The managers of an object show by the name of the
// program who has written it. Bursts may have twice as many calls as a second.
func Load(path, program string, perSecond int) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig %q: %w", path, err)
	}
	config.UserAgent, config.QPS, config.Burst = program, float32(perSecond), 2*perSecond
	return config, nil
}

// Bounded is for clients that do not watch: the timeout would end a watch too.
func Bounded(config *rest.Config, timeout time.Duration) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = timeout
	return config
}

// Live lets the client of a manager read from the API server, with bounded calls. Informers have a connection of their
// own.
func Live(timeout time.Duration) client.NewClientFunc {
	return func(config *rest.Config, options client.Options) (client.Client, error) {
		options.Cache, options.HTTPClient = nil, nil
		return client.New(Bounded(config, timeout), options)
	}
}
