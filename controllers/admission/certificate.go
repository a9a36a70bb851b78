package admission

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

const (
	// validity outlives the process: its certificate is made when it starts, and dies with it.
	validity = 10 * 365 * 24 * time.Hour
	// backdate allows for clocks that are behind.
	backdate = 5 * time.Minute
)

// newServingCertificate makes an authority and a certificate of it for the hosts, which are addresses or DNS names. It
// returns the certificate, and the authority's in PEM; the authority's key is thrown away.
func newServingCertificate(hosts []string, now time.Time) (tls.Certificate, []byte, error) {
	authorityKey, err := newKey()
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	authority := template("transplant-admission-ca", now)
	authority.IsCA, authority.BasicConstraintsValid = true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("sign the authority of the webhook server: %w", err)
	}
	key, err := newKey()
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	serving := template("transplant-admission", now)
	serving.KeyUsage, serving.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			serving.IPAddresses = append(serving.IPAddresses, ip)
		} else {
			serving.DNSNames = append(serving.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, serving, authority, key.Public(), authorityKey)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("sign the certificate of the webhook server: %w", err)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: authorityDER})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, bundle, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key of the webhook server: %w", err)
	}
	return key, nil
}

func template(name string, now time.Time) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // the system has no randomness left
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-backdate),
		NotAfter: now.Add(validity)}
}
