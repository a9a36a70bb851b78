package kind

import (
	"context"
	"fmt"
	"os"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/kubeconfig"
)

// ActorKubeconfig makes a kubeconfig for a ServiceAccount ("namespace/name") of a cluster, with a token that lives as
// long as the landscape. Server and CA are those of whatever the actor is to use: a link, or the cluster's own.
func (l *Landscape) ActorKubeconfig(ctx context.Context, cluster, serviceAccount, server string, ca []byte) ([]byte,
	error) {
	c, err := l.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	observer, err := c.Connect(clusters.Observer)
	if err != nil {
		return nil, err
	}
	return kubeconfig.OfAccount(ctx, observer, cluster, serviceAccount,
		clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca})
}

// CA is the certificate, in PEM, of the authority that signs for the API server.
func (c *Cluster) CA() ([]byte, error) {
	content, err := os.ReadFile(c.keys().Certificate(authority))
	if err != nil {
		return nil, fmt.Errorf("read the authority of cluster %q: %w", c.name, err)
	}
	return content, nil
}

// KubeconfigPath is where the kubeconfig of an actor for a target is kept, readable by the owner only.
func (l *Landscape) KubeconfigPath(actor, target string) string {
	return l.dir.Kubeconfig(actor, target)
}

// WriteKubeconfig keeps the kubeconfig of an actor for a target, for Connect.
func (l *Landscape) WriteKubeconfig(actor, target string, content []byte) error {
	return l.dir.WriteKubeconfig(actor, target, content)
}

// LinkCA is the certificate, in PEM, of the authority that signs for links. Kubeconfigs of actors trust it.
func (l *Landscape) LinkCA() []byte { return l.keys.Links.PEM() }

// IssueServing makes a certificate for a server of the landscape and returns the paths of certificate and key.
func (l *Landscape) IssueServing(name string, hosts ...string) (certificate, key string, err error) {
	return l.keys.IssueServing(name, hosts...)
}
