package switchboard

import (
	"context"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/kubeconfig"
)

// Kubeconfig is that of a ServiceAccount ("namespace/name") whose traffic goes over link(actor, cluster). It opens the
// link.
func Kubeconfig(ctx context.Context, l interface {
	clusters.Landscape
	Links() *Board
}, actor, cluster, account string) ([]byte, error) {
	opened, err := l.Links().Link(actor, cluster)
	if err != nil {
		return nil, err
	}
	c, err := l.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	observer, err := c.Connect(clusters.Observer)
	if err != nil {
		return nil, err
	}
	return kubeconfig.OfAccount(ctx, observer, cluster, account,
		clientcmdapi.Cluster{Server: opened.URL(), CertificateAuthorityData: l.Links().CA()})
}
