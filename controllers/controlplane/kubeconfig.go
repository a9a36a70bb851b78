package controlplane

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigOptions describe a kubeconfig with one context, and a second one where there is another server. Either
// the files of a certificate and its key, beside the kubeconfig, or a token authenticates.
type kubeconfigOptions struct {
	server, serverName string
	other              string // another server, by another name; empty for none
	ca                 []byte

	clientCert, clientKey, token string
}

func clientKubeconfig(options kubeconfigOptions) ([]byte, error) {
	const name, other = "shoot", "shoot-internal"
	config := clientcmdapi.Config{
		CurrentContext: name,
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: options.server, TLSServerName: options.serverName, CertificateAuthorityData: options.ca,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificate: options.clientCert, ClientKey: options.clientKey, Token: options.token,
		}},
		Contexts: map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
	}
	if options.other != "" {
		config.Clusters[other] = &clientcmdapi.Cluster{Server: options.other, CertificateAuthorityData: options.ca}
		config.Contexts[other] = &clientcmdapi.Context{Cluster: other, AuthInfo: name}
	}
	return clientcmd.Write(config)
}
