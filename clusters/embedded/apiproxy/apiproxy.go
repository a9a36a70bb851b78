// Package apiproxy brings connections to the API server of a shoot, as the apiserver-proxy on nodes does: to the
// gateway of whatever seed the shoot's name leads to, with the name in a PROXY protocol header
// (docs/specification/nodes-and-seeds.md#spec-7-4).
//
// It passes bytes and looks into none: TLS is between the client and the API server.
package apiproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	proxyproto "github.com/pires/go-proxyproto"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/service"
	"github.com/transplant-sim/transplant/clusters/link/forward"
)

const (
	// gatewayPort is where gateways take connections with a PROXY protocol header.
	gatewayPort = "8443"
	// dialTimeout bounds the way to a gateway: a seed that is frozen lets clients wait.
	dialTimeout = 10 * time.Second
	// acceptPause is after a failed accept: most likely there are no file descriptors.
	acceptPause = 10 * time.Millisecond
)

// Proxy takes connections at one address for the API server of one shoot.
type Proxy struct {
	listener net.Listener
	host     string
	resolve  forward.ResolveFunc
	log      logr.Logger
	ctx      context.Context
	stop     context.CancelFunc
	calls    sync.WaitGroup

	mu      sync.Mutex
	known   string // the last address of the host
	expires time.Time
}

// Open a proxy at an address, for the shoot whose API server has this name. It asks for the name as often as the TTL of
// the last answer wants it; while nobody answers it uses the last address that it knows, as resolvers do.
func Open(address, host string, resolve forward.ResolveFunc, log logr.Logger) (*Proxy, error) {
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("listen for connections to %s: %w", host, err)
	}
	p := &Proxy{listener: listener, host: host, resolve: resolve, log: log.WithValues("host", host)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.calls.Go(p.serve)
	return p, nil
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			p.log.Error(err, "Could not accept a connection")
			time.Sleep(acceptPause)
		default:
			p.calls.Go(func() { p.forward(client.(*net.TCPConn)) })
		}
	}
}

// forward one connection. A client whose API server cannot be reached sees its connection end, as behind a gateway.
func (p *Proxy) forward(client *net.TCPConn) {
	stop := context.AfterFunc(p.ctx, func() { _ = client.Close() })
	defer stop()
	server, err := p.dial(client)
	if err != nil {
		p.log.V(1).Info("API server cannot be reached", "reason", err.Error())
		_ = client.Close()
		return
	}
	service.Join(client, server)
}

func (p *Proxy) dial(client net.Conn) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(p.ctx, dialTimeout)
	defer cancel()
	address, err := p.address(ctx)
	if err != nil {
		return nil, err
	}
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp4", net.JoinHostPort(address, gatewayPort))
	if err != nil {
		p.forget()
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	header := proxyproto.HeaderProxyFromAddrs(2, client.RemoteAddr(), client.LocalAddr())
	err = header.SetTLVs([]proxyproto.TLV{{Type: proxyproto.PP2_TYPE_AUTHORITY, Value: []byte(p.host)}})
	if err == nil {
		_, err = header.WriteTo(server)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("send the PROXY header: %w", err), server.Close())
	}
	return server.(*net.TCPConn), nil
}

// address of the gateway now.
func (p *Proxy) address(ctx context.Context) (string, error) {
	p.mu.Lock()
	known, fresh := p.known, time.Now().Before(p.expires)
	p.mu.Unlock()
	if fresh {
		return known, nil
	}
	address, ttl, err := p.resolve(ctx, p.host)
	if err != nil && known != "" {
		return known, nil
	}
	if err != nil {
		return "", fmt.Errorf("resolve %q: %w", p.host, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known, p.expires = address, time.Now().Add(ttl)
	return address, nil
}

// forget that the address is fresh: nobody answers there.
func (p *Proxy) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expires = time.Time{}
}

// Close ends the proxy and all its connections, and returns when none is left.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.stop()
	p.calls.Wait()
	return err
}
