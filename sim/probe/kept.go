package probe

import (
	"bytes"
	"crypto/tls"
	"net/http"
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

// keptTransport keeps what opens a new connection for each request for as long as the access stays the same.
type keptTransport struct {
	mu          sync.Mutex
	host, token string
	authority   []byte
	transport   http.RoundTripper
}

func (k *keptTransport) get(config *rest.Config) (http.RoundTripper, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.transport != nil && k.host == config.Host && k.token == config.BearerToken && bytes.Equal(k.authority, config.CAData) {
		return k.transport, nil
	}
	transport, err := freshTransport(config, tls.NewLRUClientSessionCache(1))
	if err != nil {
		return nil, err
	}
	k.host, k.token, k.authority, k.transport = config.Host, config.BearerToken, config.CAData, transport
	return transport, nil
}
