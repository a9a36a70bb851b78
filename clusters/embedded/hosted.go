package embedded

import (
	"context"
	"fmt"
	"net/netip"
	"os"

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

// Attach gives a hosted cluster its API server, which must answer by its name, starts its node, and waits until the
// cluster is ready. It is called once in the life of the cluster: wherever the shoot moves, the access stays.
func (c *Cluster) Attach(ctx context.Context, access Access) error {
	if c.host == "" {
		return fmt.Errorf("attach cluster %q: its API server is its own", c.name)
	}
	proxy, err := apiproxy.Open(c.server().String(), c.host, c.landscape.resolve, c.landscape.options.Log)
	if err != nil {
		return fmt.Errorf("attach cluster %q: %w", c.name, err)
	}
	c.mutex.Lock()
	c.proxy = proxy
	c.mutex.Unlock()
	if err := os.WriteFile(c.authority(), access.CA, 0o600); err != nil {
		return fmt.Errorf("write the authority of cluster %q: %w", c.name, err)
	}
	server := clientcmdapi.Cluster{Server: c.url(), CertificateAuthorityData: access.CA}
	for _, user := range []string{program.Admin, program.Node} {
		content, err := kubeconfig.Of(c.name, server, user, clientcmdapi.AuthInfo{Token: access.Token})
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.files.Kubeconfig(user), content, 0o600); err != nil {
			return fmt.Errorf("write the kubeconfig of user %q: %w", user, err)
		}
	}
	if err := c.settle(ctx, true); err != nil {
		return err
	}
	return c.landscape.WriteState()
}

// server is where the API server is reached. That of a hosted cluster is reached at the address of the Service
// default/kubernetes, which its certificate names.
func (c *Cluster) server() netip.AddrPort {
	address := c.plan.Node
	if c.host != "" {
		address = c.plan.Services.Addr().Next()
	}
	return netip.AddrPortFrom(address, program.APIServerPort)
}

func (c *Cluster) url() string { return "https://" + c.server().String() }

// authority is the file of the certificate authority that vouches for the API server.
func (c *Cluster) authority() string {
	if c.host != "" {
		return c.files.PKI().Certificate("hosted-ca")
	}
	return c.files.PKI().Certificate(program.ClusterCA)
}

// detach ends the connections of a hosted cluster to its API server.
func (c *Cluster) detach() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.proxy == nil {
		return nil
	}
	return c.proxy.Close()
}
