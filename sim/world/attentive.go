package world

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// quiet is how long a server may send nothing before it is asked for a sign of life.
	quiet = 2 * time.Second
	// signOfLife bounds the wait for it where requests go over the same connection, which end with it: on a busy machine a
	// server may take its time.
	signOfLife = 10 * time.Second
	// dialTimeout bounds the way to a connection: a process that is frozen is connected to by the kernel, and says
	// nothing.
	dialTimeout = 5 * time.Second
	// idleTimeout is client-go's.
	idleTimeout = 90 * time.Second
)

// Attentive is an HTTP client whose connections end when the server does not answer pings any more: a watch of a server
// that is frozen would stand still for as long as it is, and its silence would be taken for "nothing changes". That of
// client-go notices after 45 seconds.
func Attentive(config *rest.Config) (*http.Client, error) {
	return attentive(config, quiet, signOfLife)
}

// Watching is Attentive for who does nothing but watch, and gives a server no longer than a look may take.
func Watching(config *rest.Config, look time.Duration) (*http.Client, error) {
	return attentive(config, quiet, look)
}

func attentive(config *rest.Config, quiet, signOfLife time.Duration) (*http.Client, error) {
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("build the TLS configuration: %w", err)
	}
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{
		TLSClientConfig:     trust,
		Proxy:               config.Proxy,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		IdleConnTimeout:     idleTimeout,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: quiet, PingTimeout: signOfLife},
	})
	if err != nil {
		return nil, fmt.Errorf("wrap the transport: %w", err)
	}
	return &http.Client{Transport: transport}, nil
}
