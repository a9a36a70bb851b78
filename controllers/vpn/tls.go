package vpn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// Names in the certificates of those who connect to vpn-seed-server.
const (
	nodesEnd  = "vpn-shoot"
	apiServer = "kube-apiserver"
)

// certificates are a folder with a certificate, its key and the authority of the tunnel. They are read again for each
// connection: they are renewed while the program runs.
type certificates string

func (c certificates) pair() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(string(c), corev1.TLSCertKey),
		filepath.Join(string(c), corev1.TLSPrivateKeyKey))
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the tunnel: %w", err)
	}
	return &pair, nil
}

func (c certificates) authority() (*x509.CertPool, error) {
	content, err := os.ReadFile(filepath.Join(string(c), corev1.ServiceAccountRootCAKey))
	if err != nil {
		return nil, fmt.Errorf("read the authority of the tunnel: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, errors.New("the authority of the tunnel has no certificate")
	}
	return pool, nil
}

// server lets in one client by its name.
func (c certificates) server(client string, protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			pair, err := c.pair()
			if err != nil {
				return nil, err
			}
			authority, err := c.authority()
			if err != nil {
				return nil, err
			}
			return &tls.Config{
				MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*pair}, NextProtos: protocols,
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority,
				VerifyConnection: func(state tls.ConnectionState) error {
					if name := state.PeerCertificates[0].Subject.CommonName; name != client {
						return fmt.Errorf("%q connects where only %q may", name, client)
					}
					return nil
				},
			}, nil
		}}
}

// client trusts a server by its name.
func (c certificates) client(server string, protocols ...string) (*tls.Config, error) {
	pair, err := c.pair()
	if err != nil {
		return nil, err
	}
	authority, err := c.authority()
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*pair}, RootCAs: authority,
		ServerName: server, NextProtos: protocols}, err
}
