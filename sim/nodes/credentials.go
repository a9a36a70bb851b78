package nodes

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// callTimeout bounds every call to a shoot; the next round tries again.
const callTimeout = 10 * time.Second

// credentials are how the nodes of one shoot reach its API server.
type credentials struct {
	server, token, authorities, proxy string
}

// credentialsOf are those in a machine's user data. The proxy's authority is trusted beside the shoot's, as the proxy
// ends TLS for every shoot.
func credentialsOf(m *machine, o Options) credentials {
	c := credentials{server: m.data.Server, token: m.data.Token, authorities: string(m.data.CAData)}
	if o.ProxyURL != nil {
		c.proxy = o.ProxyURL.String()
		c.authorities += "\n" + string(o.ProxyCA)
	}
	return c
}

// client connects anew: what an earlier one had learnt of a connection is forgotten.
func (c credentials) client() (kubernetes.Interface, error) {
	config := &rest.Config{
		Host: c.server, BearerToken: c.token, Timeout: callTimeout, QPS: -1,
		UserAgent:       "transplant-nodes",
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(c.authorities)},
	}
	if c.proxy != "" {
		proxy, err := url.Parse(c.proxy)
		if err != nil {
			return nil, fmt.Errorf("parse the proxy's address: %w", err)
		}
		config.Proxy = http.ProxyURL(proxy)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client for %q: %w", c.server, err)
	}
	return client, nil
}
