// Package shootaccess is the way to the API server of a shoot, for its users and for the gardenlet, and the roles of
// those who look after the shoot.
package shootaccess

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
)

// Access is the way to the API server of the shoot, by its public name.
type Access struct {
	*scope.Scope
	secrets *secrets.Secrets
	status  *run.Status
}

// New makes it over a scope.
func New(s *scope.Scope) *Access {
	return &Access{Scope: s, secrets: &secrets.Secrets{Scope: s}, status: &run.Status{Scope: s}}
}

// What a shoot's users, and whoever listens for it, find in the garden.
const (
	// SuffixCA of the ConfigMap that has the shoot's certificate authority, after the name of the shoot; KeyCA is its key,
	// and KeyHosts that of the names that it vouches for, separated by commas.
	SuffixCA, KeyCA, KeyHosts = ".ca-cluster", secrets.KeyCACert, "hosts"
	// SuffixKubeconfig of the Secret that has an administrator's kubeconfig, after the name of the shoot.
	SuffixKubeconfig = ".kubeconfig"
	// AddressInternal names the advertised address that is the shoot's internal name.
	AddressInternal = gardencorev1beta1.AdvertisedAddressInternal
)

// Publish gives the shoot's users what they need to reach it, in its project: the CA as ConfigMap
// <shoot>.ca-cluster and an administrator's kubeconfig as Secret <shoot>.kubeconfig. Neither changes when the shoot
// moves.
func (a *Access) Publish(ctx context.Context) error {
	ca, err := a.secrets.Data(ctx, secrets.CA)
	if err != nil {
		return err
	}
	tokens, err := a.secrets.Data(ctx, secrets.StaticToken)
	if err != nil {
		return err
	}
	kubeconfig, err := a.userKubeconfig(ca[secrets.KeyCACert], string(tokens[secrets.KeyClusterAdminToken]))
	if err != nil {
		return err
	}
	owner := metav1.OwnerReference{
		APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot", Name: a.Shoot.Name, UID: a.Shoot.UID,
	}
	for _, object := range []client.Object{
		&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{
				Name: a.Shoot.Name + SuffixCA, Namespace: a.Shoot.Namespace,
				Labels:          map[string]string{"gardener.cloud/role": "ca-cluster", "shoot.gardener.cloud/name": a.Shoot.Name},
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Data: map[string]string{secrets.KeyCACert: string(ca[secrets.KeyCACert]), KeyHosts: strings.Join(a.Hosts(), ",")},
		},
		&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{
				Name: a.Shoot.Name + SuffixKubeconfig, Namespace: a.Shoot.Namespace,
				Labels:          map[string]string{"gardener.cloud/role": "kubeconfig", "shoot.gardener.cloud/name": a.Shoot.Name},
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Data: map[string][]byte{"kubeconfig": kubeconfig, "token": tokens[secrets.KeyClusterAdminToken],
				secrets.KeyCACert: ca[secrets.KeyCACert]},
		},
	} {
		if err := objects.Apply(ctx, a.Garden, object); err != nil {
			return err
		}
	}
	return a.status.Patch(ctx, func(status *gardencorev1beta1.ShootStatus) {
		status.AdvertisedAddresses = a.advertisedAddresses()
	})
}

// advertisedAddresses are those by which the shoot's users may reach its API server, the external one first.
func (a *Access) advertisedAddresses() []gardencorev1beta1.ShootAdvertisedAddress {
	var addresses []gardencorev1beta1.ShootAdvertisedAddress
	if host := a.ExternalHost(); host != "" {
		addresses = append(addresses,
			gardencorev1beta1.ShootAdvertisedAddress{Name: gardencorev1beta1.AdvertisedAddressExternal, URL: a.URLOf(host)})
	}
	return append(addresses, gardencorev1beta1.ShootAdvertisedAddress{Name: AddressInternal, URL: a.APIServerURL()})
}

// userKubeconfig prefers the external name. One that the shoot's owner has to serve himself may not resolve.
func (a *Access) userKubeconfig(caPEM []byte, token string) ([]byte, error) {
	options := secrets.KubeconfigOptions{Server: a.APIServerURL(), CA: caPEM, Token: token}
	if a.ServesDomain() {
		options.Server, options.Other = a.URLOf(a.ExternalHost()), a.APIServerURL()
	}
	return secrets.Kubeconfig(options)
}

// Client returns a client for the shoot's API server, by its public name.
func (a *Access) Client(ctx context.Context) (client.Client, error) {
	ca, token, err := a.Admin(ctx)
	if err != nil {
		return nil, err
	}
	shoot, err := a.Shoots.For(a.APIServerURL(), ca, token)
	if err != nil {
		return nil, err
	}
	return WithWebhookCodes(shoot), nil
}

// Admin is what a client of the shoot's API server trusts, and the token of its administrator.
func (a *Access) Admin(ctx context.Context) (caPEM []byte, token string, err error) {
	ca, err := a.secrets.Data(ctx, secrets.CA)
	if err != nil {
		return nil, "", err
	}
	tokens, err := a.secrets.Data(ctx, secrets.StaticToken)
	if err != nil {
		return nil, "", err
	}
	return ca[secrets.KeyCACert], string(tokens[secrets.KeyClusterAdminToken]), nil
}

// WaitReachable waits until the shoot's API server answers by its internal name: through DNS and the gateway.
func (a *Access) WaitReachable(ctx context.Context) error {
	shoot, err := a.Client(ctx)
	if err != nil {
		return err
	}
	return a.Until(ctx, 5*time.Minute, "the shoot's API server by its name", func(ctx context.Context) error {
		// A look must not outlast the wait's own patience: a name that still leads elsewhere answers late or never.
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := shoot.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{}); err != nil {
			return fmt.Errorf("read namespace %q of the shoot: %w", metav1.NamespaceSystem, err)
		}
		return nil
	})
}
