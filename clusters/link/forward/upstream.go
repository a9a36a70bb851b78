package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	dialTimeout = 30 * time.Second // of client-go
	idleTimeout = 90 * time.Second
	// An upstream that is silent is asked for a sign of life, as Kubernetes clients do, so that requests do not hang on a
	// dead connection that their client cannot see. A starved server is given longer than they give.
	pingAfter   = 5 * time.Second
	pingTimeout = 10 * time.Second
)

// Upstream is the far end of a link: where its requests go, and over which connections.
type Upstream struct {
	target   func(*http.Request) (scheme, host string)
	tls      func() *tls.Config
	resolver *Resolver // nil when the host in the URL is dialled as it is

	mu      sync.Mutex
	current *pool
}

// NewUpstream sends requests where target says, and verifies servers as tls says, which is asked for every new
// connection. With a resolver the host of the target is looked up by that; it may be nil.
func NewUpstream(target func(*http.Request) (scheme, host string), tls func() *tls.Config, r *Resolver) *Upstream {
	u := &Upstream{target: target, tls: tls, resolver: r}
	u.current = newPool(u, "")
	return u
}

// roundTrip sends a request whose URL has no host yet. The caller calls done when it has read the response.
func (u *Upstream) roundTrip(r *http.Request, upgrade bool) (response *http.Response, done func(), err error) {
	p, err := u.take(r.Context())
	if err != nil {
		return nil, nil, err
	}
	r.URL.Scheme, r.URL.Host = u.target(r)
	transport := p.any
	if upgrade {
		transport = p.http1
	}
	response, err = transport.RoundTrip(r)
	if err != nil {
		p.leave()
		if u.resolver != nil && r.Context().Err() == nil {
			u.resolver.forget(p.address)
		}
		return nil, nil, err
	}
	return response, p.leave, nil
}

// take returns the pool of connections to the target's present address. While the name cannot be resolved, the last
// one serves: its open connections work, as a client's own would, and only new ones cannot be made.
func (u *Upstream) take(ctx context.Context) (*pool, error) {
	address := ""
	if u.resolver != nil {
		var err error
		if address, err = u.resolver.address(ctx); err != nil && ctx.Err() != nil {
			return nil, err
		} else if err != nil {
			return u.enter(nil), nil
		}
	}
	return u.enter(&address), nil
}

// enter counts a request into the current pool, after changing pools when the address is another.
func (u *Upstream) enter(address *string) *pool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if old := u.current; address != nil && old.address != *address {
		u.current = newPool(u, *address)
		old.retire()
	}
	u.current.enter()
	return u.current
}

// Resolve looks the target's name up, unless its address is known.
func (u *Upstream) Resolve(ctx context.Context) error {
	_, err := u.resolver.address(ctx)
	return err
}

// Close closes idle connections now, and the others when their last request has ended.
func (u *Upstream) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current.retire()
}

// dial connects to host:port. A name is resolved first, and once more when its known address does not answer.
func (u *Upstream) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	if u.resolver == nil {
		return dialer.DialContext(ctx, network, hostport)
	}
	_, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, fmt.Errorf("read the target %q: %w", hostport, err)
	}
	var before string
	var failed error
	for range 2 {
		address, err := u.resolver.address(ctx)
		if err != nil {
			return nil, errors.Join(err, failed)
		}
		if address == before {
			break
		}
		connection, err := dialer.DialContext(ctx, network, net.JoinHostPort(address, port))
		if err == nil {
			return connection, nil
		}
		failed, before = fmt.Errorf("connect to %q: %w", u.resolver.host, err), address
		u.resolver.forget(address)
	}
	return nil, failed
}

func (u *Upstream) dialTLS(ctx context.Context, network, hostport string, protocols []string) (net.Conn, error) {
	config := u.tls()
	config.NextProtos, config.CurvePreferences = protocols, Curves()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(hostport)
	}
	connection, err := u.dial(ctx, network, hostport)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(connection, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = connection.Close()
		return nil, fmt.Errorf("shake hands with %q: %w", config.ServerName, err)
	}
	return secured, nil
}

// Curves are those by which both ends of a link agree on keys. Go would add ML-KEM, which doubles the processor time of
// a handshake, to protect recorded traffic from quantum computers.
func Curves() []tls.CurveID {
	return []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}
}
