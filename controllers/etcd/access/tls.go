package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// keyCA is the key of a Secret, and the name of a file, that holds the CA.
const keyCA = "ca.crt"

// Credentials are a certificate, its key and the CA of both ends, in PEM.
type Credentials struct{ CA, Cert, Key []byte }

// FromSecret takes the credentials from the data of a Secret.
func FromSecret(data map[string][]byte) Credentials {
	return Credentials{CA: data[keyCA], Cert: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}
}

// Read gives them as they are, for Transport.
func (c Credentials) Read(context.Context) (Credentials, error) { return c, nil }

// Files are the names of files with Credentials.
type Files struct{ CA, Cert, Key string }

// Folder is a mounted Secret.
func Folder(path string) Files {
	return Files{
		CA:   filepath.Join(path, keyCA),
		Cert: filepath.Join(path, corev1.TLSCertKey), Key: filepath.Join(path, corev1.TLSPrivateKeyKey),
	}
}

// Read the files.
func (f Files) Read(context.Context) (Credentials, error) {
	var c Credentials
	for name, into := range map[string]*[]byte{f.CA: &c.CA, f.Cert: &c.Cert, f.Key: &c.Key} {
		content, err := os.ReadFile(name)
		if err != nil {
			return Credentials{}, fmt.Errorf("read the credentials: %w", err)
		}
		*into = content
	}
	return c, nil
}

func (c Credentials) parse() (*x509.CertPool, []tls.Certificate, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.CA) {
		return nil, nil, errors.New("read the etcd CA: it holds no certificate")
	}
	certificate, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("read the certificate: %w", err)
	}
	return pool, []tls.Certificate{certificate}, nil
}

// Client is the configuration of a client of guard or sidecar.
func (c Credentials) Client() (*tls.Config, error) {
	pool, certificates, err := c.parse()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: certificates, ServerName: ServerName,
		NextProtos: []string{"http/1.1"},
	}, nil
}

// ServeTLS is the configuration of a server that shows the certificate, and takes clients of the CA alone. If any are
// given, it takes only the allowed identities. The files are read again for every connection, so that they may be
// renewed.
func ServeTLS(files Files, protocol string, allowed ...Identity) (*tls.Config, error) {
	load := func() (*tls.Config, error) {
		credentials, err := files.Read(context.Background())
		if err != nil {
			return nil, err
		}
		pool, certificates, err := credentials.parse()
		if err != nil {
			return nil, err
		}
		return &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: certificates, NextProtos: []string{protocol},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
			VerifyConnection: func(state tls.ConnectionState) error {
				identity, known := identityOf(&state)
				if len(allowed) > 0 && !(known && slices.Contains(allowed, identity)) {
					return fmt.Errorf("%q may not connect, only %q", identity, allowed)
				}
				return nil
			},
		}, nil
	}
	config, err := load()
	if err != nil {
		return nil, err
	}
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return load() }
	return config, nil
}

// Transport asks guard or sidecar over mutual TLS. It reads the credentials for every connection, so that they may be
// renewed. A server that does not answer in the handshake is given up after dialDeadline.
func Transport(read func(context.Context) (Credentials, error)) *http.Transport {
	return &http.Transport{
		MaxIdleConnsPerHost: 2, IdleConnTimeout: idleDeadline - 10*time.Second, // before the server closes it
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialDeadline)
			defer cancel()
			credentials, err := read(ctx)
			if err != nil {
				return nil, err
			}
			config, err := credentials.Client()
			if err != nil {
				return nil, err
			}
			return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
		},
	}
}
