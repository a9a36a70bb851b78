package managed

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// keyToken is the key of what an Extension has generated, in its Secret.
const keyToken = "token"

// extensionState is the state document of an Extension: its digest distinguishes the Extension's own Secret from
// another.
type extensionState struct {
	metav1.TypeMeta `json:",inline"`

	TokenDigest string `json:"tokenDigest"`
}

// Extension is an extension of the kind that brings credentials into a shoot: it generates a token once, keeps it in a
// Secret that its status refers to, and has its digest applied to the shoot, with a kind by which users say who may
// have it. A token that changed would lock out everybody who was given the old one, so a lost Secret is an error and
// never a reason to make another.
func (p *Provider) Extension() contract.Kind[*extensionsv1alpha1.Extension] {
	kind := kindOf(p, extensionsv1alpha1.ExtensionResource, extensionManagedResource, p.reconcileExtension)
	kind.Finalizer += reference.Type
	kind.OnDelete, kind.OnForceDelete = p.deleteExtension(p.deleteManaged), p.deleteExtension(p.forceDeleteManaged)
	return kind
}

func extensionManagedResource(obj *extensionsv1alpha1.Extension) string {
	return "extension-" + obj.Name
}

func extensionSecret(obj *extensionsv1alpha1.Extension) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: "extension-" + obj.Name +
		"-token"}}
}

func (p *Provider) reconcileExtension(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.Extension,
	_ *contract.Cluster) error {
	secret, err := p.ensureToken(ctx, obj)
	if err != nil {
		return err
	}
	digest := digestOf(secret)
	if err := contract.PatchStatus(ctx, p.Seed, obj, func() {
		obj.Status.State = reference.Encode(extensionState{
			TypeMeta: metav1.TypeMeta{APIVersion: reference.APIVersion, Kind: "ExtensionState"}, TokenDigest: digest,
		})
		obj.Status.Resources = []gardencorev1beta1.NamedResourceReference{{
			Name:        keyToken,
			ResourceRef: autoscalingv1.CrossVersionObjectReference{APIVersion: "v1", Kind: "Secret", Name: secret.Name},
		}}
	}); err != nil {
		return err
	}
	info := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "extension-" + obj.Name},
		Data:       map[string]string{"tokenDigest": digest},
	}
	if obj.Spec.ProviderConfig != nil {
		info.Data["config.json"] = string(obj.Spec.ProviderConfig.Raw)
	}
	return p.deployManaged(ctx, obj, extensionManagedResource(obj), map[string]client.Object{
		"configmap.yaml": info, "customresourcedefinition.yaml": tokenGrants(),
	})
}

// ensureToken reads the token, or generates it if there never was one. The Secret is also labelled persist=true: it
// stays when the object is migrated, for whoever saves what the status refers to.
func (p *Provider) ensureToken(ctx context.Context, obj *extensionsv1alpha1.Extension) (*corev1.Secret, error) {
	state := extensionState{}
	if err := reference.Decode(obj.Status.State, &state); err != nil {
		return nil, err
	}
	secret := extensionSecret(obj)
	err := p.Seed.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	switch {
	case err == nil && state.TokenDigest != "" && digestOf(secret) != state.TokenDigest:
		return nil, fmt.Errorf("read the secret %q: it is not the one whose digest was saved", secret.Name)
	case err == nil:
		return secret, nil
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read the secret %q: %w", secret.Name, err)
	case state.TokenDigest != "":
		return nil, contract.WithCodes(fmt.Errorf("read the secret %q: %w", secret.Name, ErrSecretLost),
			gardencorev1beta1.ErrorRetryableConfigurationProblem)
	}
	token := make([]byte, 32)
	_, _ = rand.Read(token) // never fails
	secret = extensionSecret(obj)
	secret.Labels = map[string]string{constants.Persist: constants.LabelTrue}
	secret.Immutable = ptr.To(true)
	secret.Data = map[string][]byte{keyToken: []byte(hex.EncodeToString(token))}
	if err := p.Seed.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("create the secret %q: %w", secret.Name, err)
	}
	return secret, nil
}

// ErrSecretLost says that a Secret is gone which the state of an Extension names.
var ErrSecretLost = errors.New("it was saved with the state and is gone")

func digestOf(secret *corev1.Secret) string {
	sum := sha256.Sum256(secret.Data[keyToken])
	return hex.EncodeToString(sum[:])
}

// deleteExtension deletes the token with what drop deletes.
func (p *Provider) deleteExtension(
	drop func(ctx context.Context, namespace, name string) error) contract.Act[*extensionsv1alpha1.Extension] {
	return func(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.Extension, _ *contract.Cluster) error {
		if err := drop(ctx, obj.Namespace, extensionManagedResource(obj)); err != nil {
			return err
		}
		return reference.Discard(ctx, p.Seed, extensionSecret(obj))
	}
}
