package controlplane

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// What a shoot's users, and whoever listens for it, find in the garden.
const (
	// SuffixCA of the ConfigMap that has the shoot's certificate authority, after the name of the shoot; KeyCA is its key,
	// and KeyHosts that of the names that it vouches for, separated by commas.
	SuffixCA, KeyCA, KeyHosts = ".ca-cluster", keyCACert, "hosts"
	// SuffixKubeconfig of the Secret that has an administrator's kubeconfig, after the name of the shoot.
	SuffixKubeconfig = ".kubeconfig"
	// AddressInternal names the advertised address that is the shoot's internal name.
	AddressInternal = gardencorev1beta1.AdvertisedAddressInternal
)

// PublishAccess gives the shoot's users what they need to reach it, in its project: the CA as ConfigMap
// <shoot>.ca-cluster and an administrator's kubeconfig as Secret <shoot>.kubeconfig. Neither changes when the shoot
// moves.
func (o *Operation) PublishAccess(ctx context.Context) error {
	ca, err := o.SecretData(ctx, SecretCA)
	if err != nil {
		return err
	}
	tokens, err := o.SecretData(ctx, SecretStaticToken)
	if err != nil {
		return err
	}
	kubeconfig, err := o.userKubeconfig(ca[keyCACert], string(tokens[keyClusterAdminToken]))
	if err != nil {
		return err
	}
	owner := metav1.OwnerReference{
		APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot", Name: o.Shoot.Name, UID: o.Shoot.UID,
	}
	for _, object := range []client.Object{
		&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{
				Name: o.Shoot.Name + SuffixCA, Namespace: o.Shoot.Namespace,
				Labels:          map[string]string{"gardener.cloud/role": "ca-cluster", "shoot.gardener.cloud/name": o.Shoot.Name},
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Data: map[string]string{keyCACert: string(ca[keyCACert]), KeyHosts: strings.Join(o.Hosts(), ",")},
		},
		&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{
				Name: o.Shoot.Name + SuffixKubeconfig, Namespace: o.Shoot.Namespace,
				Labels:          map[string]string{"gardener.cloud/role": "kubeconfig", "shoot.gardener.cloud/name": o.Shoot.Name},
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Data: map[string][]byte{"kubeconfig": kubeconfig, "token": tokens[keyClusterAdminToken], keyCACert: ca[keyCACert]},
		},
	} {
		if err := Apply(ctx, o.Garden, object); err != nil {
			return err
		}
	}
	return o.PatchStatus(ctx, func(status *gardencorev1beta1.ShootStatus) {
		status.AdvertisedAddresses = o.advertisedAddresses()
	})
}

// advertisedAddresses are those by which the shoot's users may reach its API server, the external one first.
func (o *Operation) advertisedAddresses() []gardencorev1beta1.ShootAdvertisedAddress {
	var addresses []gardencorev1beta1.ShootAdvertisedAddress
	if host := o.ExternalHost(); host != "" {
		addresses = append(addresses,
			gardencorev1beta1.ShootAdvertisedAddress{Name: gardencorev1beta1.AdvertisedAddressExternal, URL: o.urlOf(host)})
	}
	return append(addresses, gardencorev1beta1.ShootAdvertisedAddress{Name: AddressInternal, URL: o.APIServerURL()})
}

// userKubeconfig prefers the external name. One that the shoot's owner has to serve himself may not resolve.
func (o *Operation) userKubeconfig(caPEM []byte, token string) ([]byte, error) {
	options := kubeconfigOptions{server: o.APIServerURL(), ca: caPEM, token: token}
	if o.servesDomain() {
		options.server, options.other = o.urlOf(o.ExternalHost()), o.APIServerURL()
	}
	return clientKubeconfig(options)
}

// ShootClient returns a client for the shoot's API server, by its public name.
func (o *Operation) ShootClient(ctx context.Context) (client.Client, error) {
	ca, token, err := o.AdminAccess(ctx)
	if err != nil {
		return nil, err
	}
	shoot, err := o.Shoots.For(o.APIServerURL(), ca, token)
	if err != nil {
		return nil, err
	}
	return WithWebhookCodes(shoot), nil
}

// AdminAccess is what a client of the shoot's API server trusts, and the token of its administrator.
func (o *Operation) AdminAccess(ctx context.Context) (caPEM []byte, token string, err error) {
	ca, err := o.SecretData(ctx, SecretCA)
	if err != nil {
		return nil, "", err
	}
	tokens, err := o.SecretData(ctx, SecretStaticToken)
	if err != nil {
		return nil, "", err
	}
	return ca[keyCACert], string(tokens[keyClusterAdminToken]), nil
}

// WaitShootReachable waits until the shoot's API server answers by its internal name: through DNS and the gateway.
func (o *Operation) WaitShootReachable(ctx context.Context) error {
	shoot, err := o.ShootClient(ctx)
	if err != nil {
		return err
	}
	return o.Until(ctx, 5*time.Minute, "the shoot's API server by its name", func(ctx context.Context) error {
		// A look must not outlast the wait's own patience: a name that still leads elsewhere answers late or never.
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := shoot.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{}); err != nil {
			return fmt.Errorf("read namespace %q of the shoot: %w", metav1.NamespaceSystem, err)
		}
		return nil
	})
}
