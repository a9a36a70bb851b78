package guard

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// MutualTLS is the server configuration of the proxy: it shows the certificate, and clients must show one of the CA's.
// The files are read again for every connection, so that they may be renewed.
func MutualTLS(caFile, certFile, keyFile string) (*tls.Config, error) {
	load := func() (*tls.Config, error) {
		ca, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read the clients' CA: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("read the clients' CA %q: %w", caFile, errors.New("it holds no certificate"))
		}
		certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("read the serving certificate: %w", err)
		}
		return &tls.Config{
			MinVersion:   tls.VersionTLS12,
			Certificates: []tls.Certificate{certificate},
			ClientAuth:   tls.RequireAndVerifyClientCert,
			ClientCAs:    pool,
			NextProtos:   []string{"h2"},
		}, nil
	}
	config, err := load()
	if err != nil {
		return nil, err
	}
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return load() }
	return config, nil
}
