// Package pki makes certificate authorities and the certificates that they sign, with keys of the curve P-256, and keys
// that need no certificate. It writes them to files, and renews and revokes nothing. Product and harness both use it.
package pki

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"time"
)

// Lifetime of authorities, and of certificates for which nothing else is requested.
const Lifetime = 10 * 365 * 24 * time.Hour

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority makes a self-signed certificate authority.
func NewAuthority(name string, now time.Time) (*Authority, error) {
	return newAuthority(Request{Name: name}, now)
}

func newAuthority(r Request, now time.Time) (*Authority, error) {
	template := r.template(now)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	pair, err := sign(template, nil)
	if err != nil {
		return nil, err
	}
	return &Authority{Certificate: pair.Leaf, key: pair.PrivateKey.(crypto.Signer)}, nil
}

// Request says what a certificate is for.
type Request struct {
	Name       string        // common name: the user, in Kubernetes
	Groups     []string      // organizations: the user's groups
	Hosts      []string      // IP addresses or DNS names; with any, the certificate serves, and is a client's all the same
	ServerOnly bool          // no client may use the certificate
	Valid      time.Duration // from now; zero is Lifetime
	Backdate   time.Duration // before now, for machines whose clock is behind; zero is an hour
}

func (r Request) template(now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: r.Name, Organization: r.Groups},
		NotBefore: now.Add(-cmp.Or(r.Backdate, time.Hour)), NotAfter: now.Add(cmp.Or(r.Valid, Lifetime)),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// Issue makes a key and signs a certificate for it.
func (a *Authority) Issue(r Request, now time.Time) (tls.Certificate, error) {
	template := r.template(now)
	template.KeyUsage |= x509.KeyUsageKeyEncipherment
	if !r.ServerOnly {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	if r.ServerOnly || len(r.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range r.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(template, a)
}

// IssueServing makes a certificate for what serves at a host, which is a DNS name or an IP address.
func (a *Authority) IssueServing(host string, now time.Time) (*tls.Certificate, error) {
	certificate, err := a.Issue(Request{Name: host, Hosts: []string{host}}, now)
	if err != nil {
		return nil, err
	}
	return &certificate, nil
}

// sign makes a key and its certificate, which signs itself without an authority.
func sign(template *x509.Certificate, by *Authority) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the key of %q: %w", template.Subject.CommonName, err)
	}
	if by == nil {
		by = &Authority{Certificate: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.Certificate, key.Public(), by.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("sign the certificate of %q: %w", template.Subject.CommonName, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("parse the certificate of %q: %w", template.Subject.CommonName, err)
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
