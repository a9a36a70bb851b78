package cloud

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/miekg/dns"
	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// stopGrace is how long calls under way have after SIGTERM. Followers of the ledger are sent away at once.
const stopGrace = 3 * time.Second

type flags struct {
	Options
	listen, dnsListen       string
	metricsAddress          string
	servingCert, servingKey string
}

// NewCommand is `transplant cloud`: the simulated cloud and its DNS server.
func NewCommand() *cobra.Command {
	f := &flags{}
	command := &cobra.Command{
		Use:           "cloud",
		Short:         "Run the simulated cloud and its DNS server",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, os.Interrupt)
			defer stop()
			f.Log = klog.Background().WithName("cloud")
			return f.run(ctx)
		},
	}
	set := command.Flags()
	set.StringVar(&f.Dir, "dir", "", "folder for the ledger and the contents of the buckets; no other process may use it")
	set.StringVar(&f.listen, "listen", "", "address of the HTTPS API, such as 127.16.0.2:8443")
	set.StringVar(&f.dnsListen, "dns-listen", "", "address of the DNS server, UDP and TCP, such as 127.16.0.3:5353")
	set.StringVar(&f.metricsAddress, "metrics-bind-address", "",
		"address of GET /metrics, plain HTTP, such as 127.16.0.2:9100; empty for none")
	set.StringVar(&f.servingCert, "serving-cert", "", "PEM file with the API's certificate")
	set.StringVar(&f.servingKey, "serving-key", "", "PEM file with the certificate's key")
	set.StringVar(&f.Tokens, "tokens", "",
		`YAML or JSON file with the identity and the roles of each token: {"tokens": [{"token", "identity", "roles": `+
			`["admin"|"observer"|"nodes"|"policies", for a seed "gardenlet"|"provider"|"backups"|"control-plane"], "seed"}]}; `+
			"the program reads it again when it changes")
	set.StringVar(&f.BucketURL, "bucket-url", "",
		"where the contents of the buckets are: file:///path, s3://bucket?region=… or mem://; no other program may write "+
			"there (default: a folder in --dir)")
	set.StringVar(&f.Restore, "restore", "", "start from this snapshot; --dir must not have been used before")
	set.TextVar(&f.Balancers, "load-balancers", f.Balancers,
		"range of the addresses of load balancers (default: one that is set aside for tests, and leads nowhere)")
	set.DurationVar(&f.BootDelay, "boot-delay", DefaultBootDelay, "how long a machine boots")
	for _, name := range []string{"dir", "listen", "dns-listen", "serving-cert", "serving-key", "tokens"} {
		utilruntime.Must(command.MarkFlagRequired(name)) // the flag is defined above
	}
	return command
}

// run serves until ctx is done. Every address is taken before anything is served.
func (f *flags) run(ctx context.Context) error {
	certificate, err := tls.LoadX509KeyPair(f.servingCert, f.servingKey)
	if err != nil {
		return fmt.Errorf("load the serving certificate: %w", err)
	}
	listeners, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer listeners.close()
	server, err := Open(ctx, f.Options)
	if err != nil {
		return err
	}
	f.Log.Info("Cloud is ready", "api", listeners.api.Addr().String(), "dns", listeners.tcp.Addr().String(), "entries",
		server.db.ledger.Last())
	err = serve(ctx, server, listeners, certificate, f.Log)
	return errors.Join(err, server.Close())
}

type listeners struct {
	api, tcp net.Listener
	udp      net.PacketConn
	metrics  net.Listener // nil when nobody wants them
}

func (f *flags) open(ctx context.Context) (l *listeners, err error) {
	l = &listeners{}
	var config net.ListenConfig
	if l.api, err = config.Listen(ctx, "tcp", f.listen); err == nil {
		if l.tcp, err = config.Listen(ctx, "tcp", f.dnsListen); err == nil {
			// The TCP listener's own address, so that port 0 gives one port for both.
			l.udp, err = config.ListenPacket(ctx, "udp", l.tcp.Addr().String())
		}
	}
	if err == nil && f.metricsAddress != "" {
		l.metrics, err = config.Listen(ctx, "tcp", f.metricsAddress)
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("take the cloud's addresses: %w", err)
	}
	return l, nil
}

func (l *listeners) close() {
	if l.api != nil {
		l.api.Close()
	}
	if l.tcp != nil {
		l.tcp.Close()
	}
	if l.udp != nil {
		l.udp.Close()
	}
	if l.metrics != nil {
		l.metrics.Close()
	}
}

// serve runs the servers until ctx is done or one of them fails.
func serve(ctx context.Context, s *Server, l *listeners, certificate tls.Certificate, log logr.Logger) error {
	web := &http.Server{
		Handler:           s.Handler(),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 30 * time.Second,
	}
	metrics := &http.Server{Handler: s.Metrics(), ReadHeaderTimeout: 30 * time.Second}
	defer metrics.Close()
	failed := make(chan error, 4)
	if l.metrics != nil {
		go func() { failed <- metrics.Serve(l.metrics) }()
	}
	go func() { failed <- web.ServeTLS(l.api, "", "") }()
	names := []*dns.Server{{Listener: l.tcp, Handler: s.DNS()}, {PacketConn: l.udp, Handler: s.DNS()}}
	for _, server := range names {
		go func() { failed <- server.ActivateAndServe() }()
	}
	var err error
	select {
	case <-ctx.Done():
		log.Info("Cloud ends")
	case err = <-failed:
		err = fmt.Errorf("serve the cloud: %w", err)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	s.db.ledger.EndWaits()
	if shutdownErr := web.Shutdown(grace); shutdownErr != nil {
		err = errors.Join(err, web.Close())
	}
	for _, server := range names {
		_ = server.ShutdownContext(grace) // fails when it has not started yet, or ended by itself
	}
	return err
}
