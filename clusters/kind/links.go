package kind

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/authorities"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/clusters/kind/hatch"
	"github.com/transplant-sim/transplant/clusters/link/forward"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// network is where kind puts its nodes.
const network = "kind"

// gateway finds the address by which containers on the network reach this machine.
func gateway(ctx context.Context) (string, error) {
	output, err := docker.Run(ctx, "network", "inspect", "--format", "{{range .IPAM.Config}}{{println .Gateway}}{{end}}",
		network)
	if err != nil {
		return "", err
	}
	for _, word := range strings.Fields(output) {
		if address := net.ParseIP(word); address != nil && address.To4() != nil {
			return word, nil
		}
	}
	return "", fmt.Errorf("find this machine's address on the network %q: it has no IPv4 gateway", network)
}

// openLinks makes the switchboard. Links listen where containers reach this machine; this process outlives the
// clusters. It needs the network, which the first cluster makes.
func (l *Landscape) openLinks(ctx context.Context) error {
	host, err := gateway(ctx)
	if err != nil {
		return err
	}
	l.links = switchboard.New(switchboard.Options{
		Authority: l.keys.Links,
		Listen:    func(int) (string, error) { return net.JoinHostPort(host, "0"), nil },
		Upstream:  l.upstream,
		Resolve:   pastLoopback(switchboard.AskDNS(l.companions.cloud.DNS)),
		Roots:     l.options.ShootRoots,
		Opened:    l.WriteState,
		Log:       l.options.Log,
	})
	return nil
}

// pastLoopback refuses names whose record leads to this machine's loopback. Links dial from there, and pods, which may
// write records, must not reach it.
func pastLoopback(resolve forward.ResolveFunc) forward.ResolveFunc {
	return func(ctx context.Context, host string) (string, time.Duration, error) {
		address, ttl, err := resolve(ctx, host)
		if err != nil {
			return "", 0, err
		}
		switch at, err := netip.ParseAddr(address); {
		case err != nil:
			return "", 0, fmt.Errorf("read the address of %q: %w", host, err)
		case at.Unmap().IsLoopback() || at.Unmap().IsUnspecified():
			return "", 0, fmt.Errorf("%q is at %s, the loopback of this machine: no link leads there", host, at)
		}
		return address, ttl, nil
	}
}

// Links are the links of actors to the clusters, to the cloud and to shoots.
func (l *Landscape) Links() *switchboard.Board { return l.links }

// Authorities sign for the landscape's servers and links.
func (l *Landscape) Authorities() *authorities.Landscape { return l.keys }

// upstream is where a direct link leads, and who vouches for it.
func (l *Landscape) upstream(target string) (*url.URL, *x509.CertPool, error) {
	if target == switchboard.Cloud {
		return &url.URL{Scheme: "https", Host: l.companions.cloud.API}, l.keys.Servers.Pool(), nil
	}
	c, err := l.clusters.Find(target)
	if err != nil {
		return nil, nil, err
	}
	authority, err := c.CA()
	if err != nil {
		return nil, nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	where, err := url.Parse(c.URL())
	return where, roots, err
}

// Reach is where this process finds a port of a pod, past all links: a port of its own, whose every connection is
// carried on by a shell in the pod's node. API servers forward ports too, but to a pod's loopback only.
func (l *Landscape) Reach(_ context.Context, cluster string, pod *corev1.Pod, port int) (string, error) {
	c, err := l.clusters.Find(cluster)
	if err != nil {
		return "", err
	}
	address, err := l.hatches.Find(hatch.Key{Node: c.Node(), Address: pod.Status.PodIP, Port: port})
	if err != nil {
		return "", fmt.Errorf("reach port %d of pod %s/%s of cluster %q: %w", port, pod.Namespace, pod.Name, cluster, err)
	}
	return address, nil
}
