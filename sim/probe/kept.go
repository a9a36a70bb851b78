package probe

import (
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// keptClient keeps a client for as long as the server stays the same.
type keptClient struct {
	mu     sync.Mutex
	host   string
	client kubernetes.Interface
}

func (k *keptClient) get(config *rest.Config) (kubernetes.Interface, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.client != nil && k.host == config.Host {
		return k.client, nil
	}
	client, err := steadyClient(config)
	if err != nil {
		return nil, err
	}
	k.host, k.client = config.Host, client
	return client, nil
}
