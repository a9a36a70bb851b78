package forward

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	resolveTimeout = 10 * time.Second
	// resolvePause is how long a failed look-up is believed, so that a dead DNS server does not slow down every request.
	resolvePause = time.Second
	// forgetPause is the least time between two questions for a host whose address does not answer. Users of a shoot that
	// is down send tens of requests a second.
	forgetPause = 100 * time.Millisecond
)

// ResolveFunc looks a host's address up: an IP address and for how long it may be kept.
type ResolveFunc func(ctx context.Context, host string) (address string, ttl time.Duration, err error)

// Resolver knows the address of one host for as long as the answer is valid.
type Resolver struct {
	host    string
	resolve ResolveFunc
	clock   clock.PassiveClock
	turn    chan struct{} // full while somebody asks

	mu      sync.Mutex
	known   string
	failed  error // of the last look-up
	expires time.Time
	asked   time.Time // when the last look-up ended
}

// NewResolver looks a host up with resolve, and ages its address by a clock.
func NewResolver(host string, resolve ResolveFunc, c clock.PassiveClock) *Resolver {
	return &Resolver{host: host, resolve: resolve, clock: c, turn: make(chan struct{}, 1)}
}

// address returns the host's present address.
func (r *Resolver) address(ctx context.Context) (string, error) {
	if address, err, ok := r.recall(); ok {
		return address, err
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return "", fmt.Errorf("resolve %q: %w", r.host, ctx.Err())
	}
	if address, err, ok := r.recall(); ok { // somebody asked while this one waited
		return address, err
	}
	return r.ask(ctx)
}

func (r *Resolver) ask(ctx context.Context) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	address, ttl, err := r.resolve(bounded, r.host)
	if err != nil {
		err, ttl = fmt.Errorf("resolve %q: %w", r.host, err), resolvePause
		if ctx.Err() != nil {
			return "", err // says nothing about the name
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = r.clock.Now()
	r.known, r.failed, r.expires = address, err, r.asked.Add(ttl)
	return address, err
}

func (r *Resolver) recall() (address string, err error, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known, r.failed, r.clock.Now().Before(r.expires)
}

// forget drops an address that did not answer, unless it was asked for just now.
func (r *Resolver) forget(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if again := r.asked.Add(forgetPause); r.failed == nil && r.known == address && again.Before(r.expires) {
		r.expires = again
	}
}
