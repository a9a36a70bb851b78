package managed

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

const (
	keyCertificate       = "ca.crt"
	keyPrivate           = "ca.key"
	authorityValidity    = 10 * 365 * 24 * time.Hour
	certificateValidity  = 365 * 24 * time.Hour
	clockSkewOfVerifiers = time.Hour
)

// ensureAuthority reads a certificate authority, or makes it if there is none yet. It is made once in the life of a
// shoot: labelled persist=true, it is on the next seed before the extension acts there (docs/contract.md#clause-b5,
// docs/contract.md#clause-c8).
func (p *Provider) ensureAuthority(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := p.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if err == nil {
		return secret, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the authority %q: %w", name, err)
	}
	certificate, key, err := newAuthority(name, p.Clock.Now())
	if err != nil {
		return nil, fmt.Errorf("make the authority %q: %w", name, err)
	}
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{constants.Persist: constants.LabelTrue}},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{keyCertificate: certificate, keyPrivate: key},
	}
	if err := p.Seed.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("create the authority %q: %w", name, err)
	}
	return secret, nil
}

// ensureServerCertificate makes a server certificate unless there is one that the authority signed.
func (p *Provider) ensureServerCertificate(ctx context.Context, authority *corev1.Secret, namespace,
	name string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	var failed error
	err := reference.Apply(ctx, p.Seed, secret, func(s *corev1.Secret) {
		if bytes.Equal(s.Data[keyCertificate], authority.Data[keyCertificate]) && len(s.Data[corev1.TLSCertKey]) > 0 {
			return
		}
		var certificate, key []byte
		if certificate, key, failed = signServer(authority, name+"."+namespace+".svc", p.Clock.Now()); failed == nil {
			s.Type = corev1.SecretTypeTLS
			s.Data = map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key,
				keyCertificate: authority.Data[keyCertificate]}
		}
	})
	return errors.Join(failed, err)
}

func newAuthority(name string, now time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-clockSkewOfVerifiers), NotAfter: now.Add(authorityValidity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	return sign(template, template, private.Public(), private, private)
}

func signServer(authority *corev1.Secret, host string, now time.Time) (certificate, key []byte, err error) {
	certificateBlock, _ := pem.Decode(authority.Data[keyCertificate])
	keyBlock, _ := pem.Decode(authority.Data[keyPrivate])
	if certificateBlock == nil || keyBlock == nil {
		return nil, nil, fmt.Errorf("read the authority %q: it has no PEM data", authority.Name)
	}
	parent, err := x509.ParseCertificate(certificateBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	parentKey, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-clockSkewOfVerifiers), NotAfter: now.Add(certificateValidity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	return sign(template, parent, private.Public(), parentKey, private)
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer,
	private *ecdsa.PrivateKey) (certificate, key []byte, err error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), nil
}
