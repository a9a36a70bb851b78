package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// stopGrace is how long servers may take to end their answers.
const stopGrace = 2 * time.Second

// socketOf is the path of a unix socket given as etcd writes it, e.g. "unix:///run/etcd.sock:0".
func socketOf(endpoint string) (string, error) {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok || !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("parse the endpoint %q: it must be unix:// and an absolute path", endpoint)
	}
	return path, nil
}

// untilSignal ends a command's context with the process's first SIGTERM or SIGINT.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// serveHTTP adds an HTTP server on the address to the group.
func serveHTTP(ctx context.Context, group *errgroup.Group, address string, handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for HTTP: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve HTTP: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		if err := server.Shutdown(ending); err != nil {
			return server.Close() // questions that stay open are cut
		}
		return nil
	})
	return nil
}
