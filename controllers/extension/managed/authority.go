package managed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

const (
	keyCertificate      = "ca.crt"
	keyPrivate          = "ca.key"
	certificateValidity = 365 * 24 * time.Hour
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
	certificate, key, err := pki.NewAuthorityPEM(pki.Request{Name: name}, p.Clock.Now())
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
func (p *Provider) ensureServerCertificate(ctx context.Context, authority *corev1.Secret,
	by extensionsv1alpha1.Object, name string) error {
	namespace := by.GetNamespace()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	var failed error
	err := contract.Deploy(ctx, p.Seed, by, secret, func(s *corev1.Secret) {
		if bytes.Equal(s.Data[keyCertificate], authority.Data[keyCertificate]) && len(s.Data[corev1.TLSCertKey]) > 0 {
			return
		}
		var certificate, key []byte
		host := name + "." + namespace + ".svc"
		certificate, key, failed = pki.IssuePEM(authority.Data[keyCertificate], authority.Data[keyPrivate], pki.Request{
			Name: host, Hosts: []string{host}, Valid: certificateValidity, ServerOnly: true,
		}, p.Clock.Now())
		if failed == nil {
			s.Type = corev1.SecretTypeTLS
			s.Data = map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key,
				keyCertificate: authority.Data[keyCertificate]}
		}
	})
	return errors.Join(failed, err)
}
