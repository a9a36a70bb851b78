package admission

import (
	"crypto/tls"
	"time"

	"github.com/transplant-sim/transplant/api/pki"
)

// newServingCertificate makes an authority and a certificate of it for the hosts, which are addresses or DNS names. It
// returns the certificate, and the authority's in PEM. The authority's key is thrown away. Both are made when the
// process starts, and outlive it.
func newServingCertificate(hosts []string, now time.Time) (tls.Certificate, []byte, error) {
	authority, err := pki.NewAuthority("transplant-admission-ca", now)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	serving, err := authority.Issue(pki.Request{Name: "transplant-admission", Hosts: hosts, ServerOnly: true}, now)
	return serving, authority.PEM(), err
}
