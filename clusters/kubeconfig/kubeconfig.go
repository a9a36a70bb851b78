// Package kubeconfig writes kubeconfigs for the users and ServiceAccounts of a landscape's clusters, the same way for
// every backend. Where they are kept, and whom they are given to, is not its business.
package kubeconfig

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/transplant-sim/transplant/api/pki"
)

// Of builds a kubeconfig for one cluster and one user.
func Of(cluster string, server clientcmdapi.Cluster, user string, credentials clientcmdapi.AuthInfo) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &server
	config.AuthInfos[user] = &credentials
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = cluster
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of user %q for %q: %w", user, cluster, err)
	}
	return content, nil
}

// OfAccount builds a kubeconfig for a ServiceAccount ("namespace/name") with a token that lives as long as the
// landscape, which the observer of the cluster is asked for. Server is where its traffic is to go.
func OfAccount(ctx context.Context, observer *rest.Config, cluster, account string,
	server clientcmdapi.Cluster) ([]byte, error) {
	namespace, name, found := strings.Cut(account, "/")
	if !found {
		return nil, fmt.Errorf("make a kubeconfig for the ServiceAccount %q: it is not of the form namespace/name", account)
	}
	clients, err := kubernetes.NewForConfig(observer)
	if err != nil {
		return nil, fmt.Errorf("make the client for cluster %q: %w", cluster, err)
	}
	seconds := int64(pki.Lifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	token, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("request a token for the ServiceAccount %q of cluster %q: %w", account, cluster, err)
	}
	return Of(cluster, server, name, clientcmdapi.AuthInfo{Token: token.Status.Token})
}
