package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
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

// files add the flags of the credentials that guard and sidecar serve with.
func files(flags *pflag.FlagSet, f *access.Files) {
	flags.StringVar(&f.CA, "ca-file", "", "file of the certificate authority that signs the clients' certificates")
	flags.StringVar(&f.Cert, "cert-file", "", "file of the serving certificate")
	flags.StringVar(&f.Key, "key-file", "", "file of the serving certificate's key")
}

// serveAPI adds a server of the routes to the group, which only clients of the CA reach.
func serveAPI(ctx context.Context, group *errgroup.Group, address string, files access.Files,
	routes []access.Route) error {
	config, err := access.ServeTLS(files, "http/1.1")
	if err != nil {
		return err
	}
	return serveHTTP(ctx, group, address, config, access.Handler(routes))
}

// serveHTTP adds an HTTP server on the address to the group, without TLS if there is no configuration of it.
func serveHTTP(ctx context.Context, group *errgroup.Group, address string, config *tls.Config,
	handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for HTTP: %w", err)
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	server := access.Server(handler, klog.FromContext(ctx).V(1))
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
