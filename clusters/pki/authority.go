// Package pki makes the keys and certificates of a landscape's clusters and links.
//
// It is for certificates that live as long as a landscape; it renews and revokes nothing.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Lifetime of everything this package signs.
const Lifetime = 10 * 365 * 24 * time.Hour

// backdate lets a certificate be used on a machine whose clock has been set back a little.
const backdate = time.Hour

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority makes a self-signed certificate authority.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of authority %q: %w", name, err)
	}
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of authority %q: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the certificate of authority %q: %w", name, err)
	}
	return &Authority{Certificate: certificate, key: key}, nil
}

// Request says what a certificate is for. Hosts are IP addresses or DNS names; with hosts it may serve, and every
// certificate may be used by a client.
type Request struct {
	Name   string   // common name: the user, in Kubernetes
	Groups []string // organizations: the user's groups
	Hosts  []string
}

// Issue makes a key and signs a certificate for it.
func (a *Authority) Issue(r Request) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the key of %q: %w", r.Name, err)
	}
	template, err := newTemplate(pkix.Name{CommonName: r.Name, Organization: r.Groups})
	if err != nil {
		return tls.Certificate{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(r.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range r.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("sign the certificate of %q: %w", r.Name, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("parse the certificate of %q: %w", r.Name, err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// Pool trusts this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Certificate)
	return pool
}

// PEM is the authority's certificate.
func (a *Authority) PEM() []byte { return encodeCertificate(a.Certificate.Raw) }

// KeyPair is the authority as a certificate that can sign others, for programs that issue certificates themselves.
func (a *Authority) KeyPair() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{a.Certificate.Raw}, PrivateKey: a.key, Leaf: a.Certificate}
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now.Add(-backdate),
		NotAfter: now.Add(Lifetime)}, nil
}
