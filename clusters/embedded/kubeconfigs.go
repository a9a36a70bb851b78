package embedded

import (
	"context"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/kubeconfig"
)

// ActorKubeconfig makes a kubeconfig for a ServiceAccount ("namespace/name") of a cluster, with a token that lives as
// long as the landscape. Server and CA are those of the link the actor is to use.
func (l *Landscape) ActorKubeconfig(ctx context.Context, cluster, serviceAccount, server string, ca []byte) ([]byte,
	error) {
	c, err := l.embedded(cluster)
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

// LinkKubeconfig is ActorKubeconfig over link(actor, cluster), which it opens.
func (l *Landscape) LinkKubeconfig(ctx context.Context, actor, cluster, serviceAccount string) ([]byte, error) {
	opened, err := l.Link(actor, cluster)
	if err != nil {
		return nil, err
	}
	return l.ActorKubeconfig(ctx, cluster, serviceAccount, opened.URL(), l.LinkCA())
}

// KubeconfigPath is where the kubeconfig of an actor for a target is kept, readable by the owner only.
func (l *Landscape) KubeconfigPath(actor, target string) string {
	return l.dir.Kubeconfig(actor, target)
}

// WriteKubeconfig keeps the kubeconfig of an actor for a target, for Connect and for "transplant kubeconfig --actor".
func (l *Landscape) WriteKubeconfig(actor, target string, content []byte) error {
	return l.dir.WriteKubeconfig(actor, target, content)
}
