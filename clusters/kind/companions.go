package kind

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
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

// companions are the containers of a landscape beside its clusters.
type companions struct {
	dir      rundir.Dir
	image    string
	progress func(subject, what string)
	cloud    clusters.CloudAddresses
}

// plan finds ports of this machine for the cloud, on which the links find it.
func (c *companions) plan() error {
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
	c.cloud = clusters.CloudAddresses{
		ListenAPI: fmt.Sprintf("0.0.0.0:%d", cloudPort), ListenDNS: fmt.Sprintf("0.0.0.0:%d", dnsPort),
		API: net.JoinHostPort(host, port(api)), DNS: net.JoinHostPort(host, port(dns)),
	}
	return nil
}

// start starts them, and waits until they are ready. Trust is for asking the servers among them.
func (c *companions) start(ctx context.Context, all []clusters.Companion, trust *tls.Config) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for _, one := range all {
		group.Go(func() error { return c.startOne(groupCtx, one, trust) })
	}
	return group.Wait()
}

// containerName of a companion.
func (c *companions) containerName(name string) string { return prefix(c.dir.Path, c.dir.Name) + name }

func (c *companions) startOne(ctx context.Context, one clusters.Companion, trust *tls.Config) error {
	began := time.Now()
	user, err := giveTo(one)
	if err != nil {
		return fmt.Errorf("give its files to the companion %q: %w", one.Name, err)
	}
	if _, err := docker.Run(ctx, c.runArgs(one, user)...); err != nil {
		return fmt.Errorf("start the companion %q: %w", one.Name, err)
	}
	if err := c.await(ctx, one, trust); err != nil {
		return err
	}
	c.progress(one.Name, fmt.Sprintf("ready after %s", time.Since(began).Round(tick)))
	return nil
}

// runArgs are those of the docker command: a companion sees the files that it is given, by the paths that they have on
// this machine, and has no rights.
func (c *companions) runArgs(one clusters.Companion, user string) []string {
	args := []string{"run", "--detach", "--name", c.containerName(one.Name), "--network", network, "--user", user,
		"--label", labelLandscape + "=" + c.dir.Path, "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",
		"--log-driver", "json-file", "--log-opt", "max-size=16m", "--log-opt", "max-file=2"}
	for _, path := range one.Reads {
		args = append(args, "--volume", path+":"+path+":ro")
	}
	for _, path := range one.Writes {
		args = append(args, "--volume", path+":"+path)
	}
	for _, name := range one.Env {
		if _, set := os.LookupEnv(name); set {
			args = append(args, "--env", name) // docker takes the value from here, and nobody reads it on a command line
		}
	}
	if one.Name == cloudName {
		args = append(args, "--publish", fmt.Sprintf("%s:%d", c.cloud.API, cloudPort),
			"--publish", fmt.Sprintf("%s:%d/tcp", c.cloud.DNS, dnsPort), "--publish",
			fmt.Sprintf("%s:%d/udp", c.cloud.DNS, dnsPort))
	}
	return append(append(args, c.image, "transplant"), one.Args...)
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

func (c *companions) await(ctx context.Context, one clusters.Companion, trust *tls.Config) error {
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: trust,
		DisableKeepAlives: true}}
	err := ready.Await(ctx, companionPoll, companionTimeout, func(ctx context.Context) error {
		if err := c.lives(ctx, one.Name); err != nil || one.ReadyURL == "" {
			return ready.Never(err)
		}
		return ready.Endpoint(ctx, client, one.ReadyURL)
	})
	if err != nil {
		return fmt.Errorf("wait for the companion %q: %w", one.Name, err)
	}
	return nil
}

// lives says whether a companion runs; if not, what its log ends with.
func (c *companions) lives(ctx context.Context, name string) error {
	running, err := docker.Run(ctx, "inspect", "--format", "{{.State.Running}}", c.containerName(name))
	if err != nil || running == "true\n" {
		return err
	}
	return fmt.Errorf("it has ended; its log ends with:\n%s", docker.Said(ctx, c.containerName(name)))
}
