package secrets

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	caValidity          = 10 * 365 * 24 * time.Hour
	certificateValidity = 365 * 24 * time.Hour
	// backdate allows for clocks that are behind.
	backdate = 5 * time.Minute
)

// certificate describes one certificate to be signed by a CA of the shoot.
type certificate struct {
	commonName    string
	organizations []string
	dnsNames      []string
	addresses     []net.IP
	usages        []x509.ExtKeyUsage
}

// keyPair is a certificate and its key, in PEM.
type keyPair struct{ cert, key []byte }

func newCA(commonName string, now time.Time) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("generate the key of CA %q: %w", commonName, err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: commonName},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caValidity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	return sign(template, template, key, key)
}

func (ca keyPair) issue(c certificate, now time.Time) (keyPair, error) {
	parents, err := certutil.ParseCertsPEM(ca.cert)
	if err != nil {
		return keyPair{}, fmt.Errorf("parse the CA for %q: %w", c.commonName, err)
	}
	signer, err := keyutil.ParsePrivateKeyPEM(ca.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("parse the CA key for %q: %w", c.commonName, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("generate the key of %q: %w", c.commonName, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: c.commonName, Organization: c.organizations},
		DNSNames:     c.dnsNames,
		IPAddresses:  c.addresses,
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(certificateValidity),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  c.usages,
	}
	return sign(template, parents[0], key, signer.(crypto.Signer))
}

func sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer) (keyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign the certificate of %q: %w", template.Subject.CommonName, err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("encode the key of %q: %w", template.Subject.CommonName, err)
	}
	return keyPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: keyutil.ECPrivateKeyBlockType, Bytes: keyDER}),
	}, nil
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

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // the system has no randomness left
	}
	return n
}

// KubeconfigOptions describe a kubeconfig with one context, and a second one where there is another server. Either
// the files of a certificate and its key, beside the kubeconfig, or a token authenticates.
type KubeconfigOptions struct {
	Server, ServerName string
	Other              string // another server, by another name; empty for none
	CA                 []byte

	ClientCert, ClientKey, Token string
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
		}},
		Contexts: map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
	}
	if options.Other != "" {
		config.Clusters[other] = &clientcmdapi.Cluster{Server: options.Other, CertificateAuthorityData: options.CA}
		config.Contexts[other] = &clientcmdapi.Context{Cluster: other, AuthInfo: name}
	}
	return clientcmd.Write(config)
}
