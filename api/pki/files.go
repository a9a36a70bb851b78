package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/keyutil"
)

// Folder is where keys and certificates are: <name>.crt and <name>.key, keys readable by the owner only. Errors of its
// write methods name the file.
type Folder string

// Certificate is the path of a certificate in the folder.
func (f Folder) Certificate(name string) string { return filepath.Join(string(f), name+".crt") }

// Key is the path of a private key in the folder.
func (f Folder) Key(name string) string { return filepath.Join(string(f), name+".key") }

// WriteAuthority writes <name>.crt and <name>.key of an authority.
func (f Folder) WriteAuthority(name string, a *Authority) error {
	return f.WriteKeyPair(name, a.KeyPair())
}

// WriteKeyPair writes <name>.crt and <name>.key.
func (f Folder) WriteKeyPair(name string, pair tls.Certificate) error {
	certificate, key, err := PEM(pair)
	if err != nil {
		return fmt.Errorf("encode the key %q: %w", name, err)
	}
	if err := f.write(f.Key(name), key); err != nil {
		return err
	}
	return f.write(f.Certificate(name), certificate)
}

// ReadAuthority reads an authority that WriteAuthority has written.
func (f Folder) ReadAuthority(name string) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(f.Certificate(name), f.Key(name))
	if err != nil {
		return nil, fmt.Errorf("read the authority %q: %w", name, err)
	}
	return &Authority{Certificate: pair.Leaf, key: pair.PrivateKey.(crypto.Signer)}, nil
}

// WriteSigningKey makes and writes the key <name>.key with its public half <name>.pub, for ServiceAccount tokens.
func (f Folder) WriteSigningKey(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key %q: %w", name, err)
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return fmt.Errorf("encode the key %q: %w", name, err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode the public key %q: %w", name, err)
	}
	if err := f.write(f.Key(name), private); err != nil {
		return err
	}
	return f.write(f.PublicKey(name), pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: public}))
}

// PublicKey is the path of a public key in the folder.
func (f Folder) PublicKey(name string) string { return filepath.Join(string(f), name+".pub") }

func (f Folder) write(path string, content []byte) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return fmt.Errorf("make the folder of keys %q: %w", string(f), err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write the key file %q: %w", path, err)
	}
	return nil
}
