package forward

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
)

// pool keeps the connections to one address of the upstream.
type pool struct {
	address string
	any     *http.Transport // HTTP/2 when offered
	http1   *http.Transport // for upgrades, which HTTP/2 does not know
	inside  atomic.Int64    // requests, and one more until the pool is retired
}

func newPool(u *Upstream, address string) *pool {
	p := &pool{address: address, any: newTransport(u, true), http1: newTransport(u, false)}
	p.inside.Store(1)
	return p
}

func newTransport(u *Upstream, http2 bool) *http.Transport {
	protocols, alpn := new(http.Protocols), []string{"http/1.1"}
	protocols.SetHTTP1(true)
	if http2 {
		protocols.SetHTTP2(true)
		alpn = []string{"h2", "http/1.1"}
	}
	return &http.Transport{
		Protocols: protocols,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := u.dial(ctx, network, address)
			return connection, unsent(err)
		},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := u.dialTLS(ctx, network, address, alpn)
			return connection, unsent(err)
		},
		DisableCompression:  true, // bodies pass as they are
		MaxIdleConnsPerHost: 100,
		IdleConnTimeout:     idleTimeout,
		ReadBufferSize:      16 << 10,
		WriteBufferSize:     16 << 10,
		HTTP2: &http.HTTP2Config{
			MaxReadFrameSize: 256 << 10,
			SendPingTimeout:  pingAfter,
			PingTimeout:      pingTimeout,
		},
	}
}

func (p *pool) enter() { p.inside.Add(1) }

// leave ends a request. The last one out of a retired pool closes the connections that it has left idle.
func (p *pool) leave() {
	if p.inside.Add(-1) == 0 {
		p.closeIdle()
	}
}

// retire closes idle connections now, the others when their last request has ended. It is called once.
func (p *pool) retire() {
	p.closeIdle()
	p.leave()
}

func (p *pool) closeIdle() {
	p.any.CloseIdleConnections()
	p.http1.CloseIdleConnections()
}
