package controlplane

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigOptions describe a kubeconfig with one context. Either client or token authenticates.
type kubeconfigOptions struct {
	server, serverName string
	ca                 []byte
	client             keyPair
	token              string
}

func clientKubeconfig(options kubeconfigOptions) ([]byte, error) {
	const name = "shoot"
	return clientcmd.Write(clientcmdapi.Config{
		CurrentContext: name,
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: options.server, TLSServerName: options.serverName, CertificateAuthorityData: options.ca,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: options.client.cert, ClientKeyData: options.client.key, Token: options.token,
		}},
		Contexts: map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
	})
}
