package embedded

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/transplant-sim/transplant/clusters/embedded/apiproxy"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/kubeconfig"
)

// Access is what an administrator of a shoot has.
type Access struct {
	CA    []byte // PEM
	Token string
}

// api is how the API server of a cluster is reached: its own, or that of a shoot.
type api struct {
	files    program.Cluster
	services netip.Prefix // of the cluster
	Hosted                // if it is a shoot's

	mutex sync.Mutex
	proxy *apiproxy.Proxy // to a shoot's, once it is there
}

// IsHosted says whether the API server of a cluster is a shoot's.
func IsHosted(l *Landscape, cluster string) bool { return l.options.Hosted[cluster].Host != "" }

// Attach gives a hosted cluster its API server, which must answer by its name, starts its node, and waits until the
// cluster is ready. It is called once in the life of the cluster: wherever the shoot moves, the access stays.
func Attach(ctx context.Context, l *Landscape, cluster string, access Access) error {
	c, err := l.clusters.Find(cluster)
	if err != nil {
		return err
	}
	if err := c.api.attach(l, access); err != nil {
		return fmt.Errorf("attach cluster %q: %w", cluster, err)
	}
	if err := c.settle(ctx, true); err != nil {
		return err
	}
	return l.WriteState()
}

func (a *api) attach(l *Landscape, access Access) error {
	if err := a.open(l); err != nil {
		return err
	}
	if err := os.WriteFile(a.authority(), access.CA, 0o600); err != nil {
		return fmt.Errorf("write the authority: %w", err)
	}
	server := clientcmdapi.Cluster{Server: a.url(), CertificateAuthorityData: access.CA}
	for _, user := range []string{program.Admin, program.Node} {
		content, err := kubeconfig.Of(a.files.Name, server, user, clientcmdapi.AuthInfo{Token: access.Token})
		if err != nil {
			return err
		}
		if err := os.WriteFile(a.files.Kubeconfig(user), content, 0o600); err != nil {
			return fmt.Errorf("write the kubeconfig of user %q: %w", user, err)
		}
	}
	return nil
}

// open the way to a shoot's API server, unless its machines have it open.
func (a *api) open(l *Landscape) error {
	if a.OnMachines {
		return nil
	}
	proxy, err := apiproxy.Open(a.server().String(), a.Host, l.resolve, l.options.Log)
	if err != nil {
		return err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.proxy = proxy
	return nil
}

// server is where the API server is reached. A shoot's is reached at the address of the Service default/kubernetes,
// which its certificate names.
func (a *api) server() netip.AddrPort {
	address := a.files.Address
	if a.Host != "" {
		address = a.services.Addr().Next()
	}
	return netip.AddrPortFrom(address, program.APIServerPort)
}

func (a *api) url() string { return "https://" + a.server().String() }

// authority is the file of the certificate authority that vouches for the API server.
func (a *api) authority() string {
	if a.Host != "" {
		return a.files.PKI().Certificate("hosted-ca")
	}
	return a.files.PKI().Certificate(program.ClusterCA)
}

// close ends all connections to a shoot's API server.
func (a *api) close() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.proxy == nil {
		return nil
	}
	return a.proxy.Close()
}
