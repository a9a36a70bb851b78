package kind

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/clusters/ready"
)

// Ports of companions in their containers.
const (
	cloudPort   = 8443
	dnsPort     = 5353
	metricsPort = 9100
)

// ControlPlaneFile is where the image of companions has the multi-call binary.
const ControlPlaneFile = "/usr/local/bin/controlplane"

// Companions are the names that companions may have: those of containers, which the guard has to know beforehand.
var Companions = []string{cloudName, "nodes"}

// cloudName is that of the companion whose ports the links need.
const cloudName = "cloud"

const (
	companionTimeout = time.Minute
	companionPoll    = 200 * time.Millisecond
	// nobody is who companions run as when the landscape is root's.
	nobody = 65532
)

// planCloud finds ports of this machine for the cloud, on which the links find it.
func (l *Landscape) planCloud() error {
	const host = "127.0.0.1"
	api, err := holdPort()
	if err != nil {
		return fmt.Errorf("find a port for the cloud: %w", err)
	}
	defer api.Close()
	dns, err := holdPort()
	if err != nil {
		return fmt.Errorf("find a port for the cloud's DNS: %w", err)
	}
	defer dns.Close()
	port := func(listener net.Listener) string { return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port) }
	l.cloud = clusters.CloudAddresses{
		ListenAPI: fmt.Sprintf("0.0.0.0:%d", cloudPort), ListenDNS: fmt.Sprintf("0.0.0.0:%d", dnsPort),
		API: net.JoinHostPort(host, port(api)), DNS: net.JoinHostPort(host, port(dns)),
	}
	return nil
}

// CloudAddresses says where the cloud listens in its container, and where the links find it.
func (l *Landscape) CloudAddresses() clusters.CloudAddresses { return l.cloud }

// MetricsAddress says where a companion serves /metrics: in its container, where this machine does not look.
func (l *Landscape) MetricsAddress(string) clusters.MetricsAddress {
	return clusters.MetricsAddress{Listen: fmt.Sprintf("0.0.0.0:%d", metricsPort)}
}

// ControlPlane is where a companion finds the multi-call binary with etcd and the Kubernetes programs.
func (l *Landscape) ControlPlane() string { return ControlPlaneFile }

// startCompanions starts the containers beside the clusters.
func (l *Landscape) startCompanions(ctx context.Context) error {
	if l.options.Companions == nil {
		return nil
	}
	all, err := l.options.Companions(l)
	if err != nil {
		return fmt.Errorf("plan the containers beside the clusters: %w", err)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, c := range all {
		group.Go(func() error { return l.startCompanion(groupCtx, c) })
	}
	return group.Wait()
}

// companionName is the container's.
func (l *Landscape) companionName(name string) string { return prefix(l.dir.Path, l.dir.Name) + name }

func (l *Landscape) startCompanion(ctx context.Context, c clusters.Companion) error {
	began := time.Now()
	user, err := giveTo(c)
	if err != nil {
		return fmt.Errorf("give its files to the companion %q: %w", c.Name, err)
	}
	if _, err := docker.Run(ctx, l.runArgs(c, user)...); err != nil {
		return fmt.Errorf("start the companion %q: %w", c.Name, err)
	}
	if err := l.awaitCompanion(ctx, c); err != nil {
		return err
	}
	l.report(c.Name, fmt.Sprintf("ready after %s", time.Since(began).Round(tick)))
	return nil
}

// runArgs are those of the docker command: a companion sees the files that it is given, by the paths that they have on
// this machine, and has no rights.
func (l *Landscape) runArgs(c clusters.Companion, user string) []string {
	args := []string{"run", "--detach", "--name", l.companionName(c.Name), "--network", network, "--user", user,
		"--label", labelLandscape + "=" + l.dir.Path, "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",
		"--log-driver", "json-file", "--log-opt", "max-size=16m", "--log-opt", "max-file=2"}
	for _, path := range c.Reads {
		args = append(args, "--volume", path+":"+path+":ro")
	}
	for _, path := range c.Writes {
		args = append(args, "--volume", path+":"+path)
	}
	for _, name := range c.Env {
		if _, set := os.LookupEnv(name); set {
			args = append(args, "--env", name) // docker takes the value from here, and nobody reads it on a command line
		}
	}
	if c.Name == cloudName {
		args = append(args, "--publish", fmt.Sprintf("%s:%d", l.cloud.API, cloudPort),
			"--publish", fmt.Sprintf("%s:%d/tcp", l.cloud.DNS, dnsPort), "--publish",
			fmt.Sprintf("%s:%d/udp", l.cloud.DNS, dnsPort))
	}
	return append(append(args, l.options.CompanionImage.Name, "transplant"), c.Args...)
}

// labelLandscape on a container names the run directory that it belongs to.
const labelLandscape = "transplant.dev/landscape"

// giveTo makes the folders that a companion writes into, and says as whom it is to run: as this user, but not as root.
func giveTo(c clusters.Companion) (user string, err error) {
	uid, gid := os.Getuid(), os.Getgid()
	for _, folder := range c.Writes {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", err
		}
	}
	if uid == 0 {
		uid, gid = nobody, nobody
		for _, path := range append(append([]string{}, c.Reads...), c.Writes...) {
			if err := os.Chown(path, uid, gid); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%d:%d", uid, gid), nil
}

func (l *Landscape) awaitCompanion(ctx context.Context, c clusters.Companion) error {
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: l.keys.TLS(),
		DisableKeepAlives: true}}
	err := ready.Await(ctx, companionPoll, companionTimeout, func(ctx context.Context) error {
		if err := l.lives(ctx, c.Name); err != nil || c.ReadyURL == "" {
			return ready.Never(err)
		}
		return ready.Endpoint(ctx, client, c.ReadyURL)
	})
	if err != nil {
		return fmt.Errorf("wait for the companion %q: %w", c.Name, err)
	}
	return nil
}

// lives says whether a companion runs; if not, what its log ends with.
func (l *Landscape) lives(ctx context.Context, name string) error {
	running, err := docker.Run(ctx, "inspect", "--format", "{{.State.Running}}", l.companionName(name))
	if err != nil || running == "true\n" {
		return err
	}
	return fmt.Errorf("it has ended; its log ends with:\n%s", docker.Said(ctx, l.companionName(name)))
}
