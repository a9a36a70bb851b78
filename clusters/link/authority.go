package link

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/transplant-sim/transplant/pki"
)

// CertificateAuthority issues the certificates that links show to actors.
type CertificateAuthority interface {
	// Issue makes a serving certificate for a host, which is a DNS name or an IP address.
	Issue(host string) (*tls.Certificate, error)
}

// CA is the link CA of a landscape: the one authority that all kubeconfigs trust.
type CA struct{ authority *pki.Authority }

var _ CertificateAuthority = &CA{}

// NewCA makes a self-signed authority with an ECDSA P-256 key.
func NewCA() (*CA, error) {
	authority, err := pki.NewAuthority("transplant-links", time.Now())
	if err != nil {
		return nil, err
	}
	return CAOf(authority), nil
}

// CAOf lets an authority that exists issue the certificates of links.
func CAOf(authority *pki.Authority) *CA { return &CA{authority: authority} }

// Issue makes a serving certificate for a host, which is a DNS name or an IP address.
func (c *CA) Issue(host string) (*tls.Certificate, error) {
	certificate, err := c.authority.Issue(pki.Request{Name: host, Hosts: []string{host}}, time.Now())
	if err != nil {
		return nil, fmt.Errorf("issue the link certificate of %q: %w", host, err)
	}
	return &certificate, nil
}

// PEM is the authority's certificate, as kubeconfigs hold it.
func (c *CA) PEM() []byte { return c.authority.PEM() }

// Pool trusts this authority alone.
func (c *CA) Pool() *x509.CertPool { return c.authority.Pool() }
