package pki

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// PEM encodes a certificate and its key, as kubeconfigs and Secrets hold them.
func PEM(pair tls.Certificate) (certificate, key []byte, err error) {
	key, err = keyutil.MarshalPrivateKeyToPEM(pair.PrivateKey)
	return encodeCertificate(pair.Certificate[0]), key, err
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})
}

// NewAuthorityPEM makes a self-signed certificate authority and encodes it.
func NewAuthorityPEM(r Request, now time.Time) (certificate, key []byte, err error) {
	authority, err := newAuthority(r, now)
	if err != nil {
		return nil, nil, err
	}
	return PEM(authority.KeyPair())
}

// IssuePEM makes and encodes a certificate that an encoded authority signs.
func IssuePEM(ca, caKey []byte, r Request, now time.Time) (certificate, key []byte, err error) {
	parsed, err := tls.X509KeyPair(ca, caKey)
	if err != nil {
		return nil, nil, fmt.Errorf("parse the authority for %q: %w", r.Name, err)
	}
	authority := &Authority{Certificate: parsed.Leaf, key: parsed.PrivateKey.(crypto.Signer)}
	pair, err := authority.Issue(r, now)
	if err != nil {
		return nil, nil, err
	}
	return PEM(pair)
}

// RSAKey makes and encodes a key of 2048 bits.
func RSAKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make an RSA key: %w", err)
	}
	return keyutil.MarshalPrivateKeyToPEM(key)
}

// SSHKey makes an Ed25519 key. The private half is in the form of OpenSSH, the public one a line of authorized_keys.
func SSHKey(comment string) (private, public []byte, err error) {
	publicKey, privateKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make an SSH key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(privateKey, comment)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the SSH key: %w", err)
	}
	authorized, err := ssh.NewPublicKey(publicKey)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the public SSH key: %w", err)
	}
	return pem.EncodeToMemory(block), ssh.MarshalAuthorizedKey(authorized), nil
}
