package secrets

import (
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"

	"github.com/transplant-sim/transplant/api/pki"
)

const (
	certificateValidity = 365 * 24 * time.Hour
	// backdate allows for clocks that are behind.
	backdate = 5 * time.Minute
)

// makeAuthority makes a certificate authority of a shoot.
func makeAuthority(name string, now time.Time) func(set) (map[string][]byte, error) {
	return func(set) (map[string][]byte, error) {
		certificate, key, err := pki.NewAuthorityPEM(pki.Request{Name: name, Backdate: backdate}, now)
		return map[string][]byte{KeyCACert: certificate, keyCAKey: key}, err
	}
}

// issue makes a certificate that one of the shoot's authorities signs. The result holds the authority too.
func (s set) issue(authority string, r pki.Request, now time.Time) (map[string][]byte, error) {
	r.Valid, r.Backdate = certificateValidity, backdate
	ca := s[authority]
	certificate, key, err := pki.IssuePEM(ca[KeyCACert], ca[keyCAKey], r, now)
	return map[string][]byte{KeyCACert: ca[KeyCACert], KeyCert: certificate, KeyKey: key}, err
}

// aging returns a predicate of a secret's data: its certificate has come to half of its validity, or cannot be read.
// Whoever uses the certificate then has months to take the next one.
func aging(now time.Time) func(map[string][]byte) bool {
	return func(data map[string][]byte) bool {
		certificates, err := certutil.ParseCertsPEM(data[KeyCert])
		if err != nil {
			return true
		}
		from, until := certificates[0].NotBefore, certificates[0].NotAfter
		return now.After(from.Add(until.Sub(from) / 2))
	}
}

// KubeconfigOptions describe a kubeconfig with one context, and a second one where there is another server. Either
// the files of a certificate and its key, beside the kubeconfig, or a token or its file authenticates.
type KubeconfigOptions struct {
	Server, ServerName string
	Other              string // another server, by another name; empty for none
	CA                 []byte

	ClientCert, ClientKey, Token string

	TokenFile string // where clients find the token, and read it again
}

// Kubeconfig is the document that the options describe.
func Kubeconfig(options KubeconfigOptions) ([]byte, error) {
	const name, other = "shoot", "shoot-internal"
	config := clientcmdapi.Config{
		CurrentContext: name,
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: options.Server, TLSServerName: options.ServerName, CertificateAuthorityData: options.CA,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificate: options.ClientCert, ClientKey: options.ClientKey, Token: options.Token,
			TokenFile: options.TokenFile,
		}},
		Contexts: map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
	}
	if options.Other != "" {
		config.Clusters[other] = &clientcmdapi.Cluster{Server: options.Other, CertificateAuthorityData: options.CA}
		config.Contexts[other] = &clientcmdapi.Context{Cluster: other, AuthInfo: name}
	}
	return clientcmd.Write(config)
}
