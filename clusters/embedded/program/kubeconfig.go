package program

import (
	"fmt"
	"os"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/kubeconfig"
)

// users are the cluster's own, with the names and groups Kubernetes' own roles know.
var users = map[string]pki.Request{
	Admin: {Name: "observer", Groups: []string{"system:masters"}},
	// Not one ServiceAccount per controller, which costs a token each before a cluster is ready.
	ControllerManager: {Name: "system:kube-controller-manager", Groups: []string{"system:masters"}},
	Scheduler:         {Name: "system:kube-scheduler"},
	// The process node does a kubelet's work and that of the volume, service and load balancer controllers.
	Node: {Name: "transplant:node", Groups: []string{"system:masters"}},
}

func (c Cluster) writeKubeconfigs(authority *pki.Authority) error {
	server := clientcmdapi.Cluster{Server: c.URL(), CertificateAuthorityData: authority.PEM()}
	for file, request := range users {
		pair, err := authority.Issue(request, time.Now())
		if err != nil {
			return err
		}
		certificate, key, err := pki.PEM(pair)
		if err != nil {
			return err
		}
		credentials := clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
		content, err := kubeconfig.Of(c.Name, server, request.Name, credentials)
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.Kubeconfig(file), content, 0o600); err != nil {
			return fmt.Errorf("write the kubeconfig of user %q: %w", request.Name, err)
		}
	}
	return nil
}
