package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options of Serve.
type Options struct {
	// Folder in which, and below which, runs are.
	Folder string
	// Address to listen on, host and port; of loopback.
	Address string
	// Ready gets the URL, as soon as the server answers.
	Ready func(url string)
	// Clock by which the files are looked at; the zero value is real time.
	Clock clock.WithTicker
}

// pace at which the files are looked at, as long as somebody follows.
const pace = 500 * time.Millisecond

// goodbye bounds the end of the requests that are under way.
const goodbye = 2 * time.Second

// ErrNotLoopback refuses an address that others can reach.
var ErrNotLoopback = errors.New("only an address of loopback can be served: a run holds what nobody else needs to see")

// Serve until ctx ends.
func Serve(ctx context.Context, o Options) error {
	if err := loopback(o.Address); err != nil {
		return err
	}
	o.Clock = cmp.Or[clock.WithTicker](o.Clock, clock.RealClock{})
	if _, err := find(o.Folder); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", o.Address, err)
	}
	server := &http.Server{
		Handler: newSite(o), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }, // who follows is let go when ctx ends
	}
	var served error
	var done sync.WaitGroup
	done.Go(func() { served = server.Serve(listener) })
	o.Ready("http://" + listener.Addr().String() + "/")
	stopped := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		if server.Shutdown(end) != nil {
			server.Close()
		}
	})
	done.Wait()
	stopped()
	if !errors.Is(served, http.ErrServerClosed) {
		return fmt.Errorf("serve %q: %w", o.Address, served)
	}
	return nil
}

// loopback refuses addresses of which not every form is loopback; a name is one only if it is localhost.
func loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("read the address %q: %w", address, err)
	}
	if !isLoopback(host) {
		return fmt.Errorf("serve %q: %w", address, ErrNotLoopback)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// guarded answers only those who call the server by an address of loopback: a name from elsewhere that leads here is
// how a page of another site would read what is shown.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !isLoopback(host) {
			http.Error(w, "this is shown on this machine only", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
