package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/api/pki"
)

// controlPlane gives the control plane what it knows of the cloud, and the shoot its storage. Clients in the shoot know
// the provider's servers by an authority in a Secret that moves with the shoot.
type controlPlane struct{ *program }

var _ actuator[*extensionsv1alpha1.ControlPlane] = controlPlane{}

func (c controlPlane) shoot() managed { return c.inShoot("extension-controlplane-shoot") }

func (c controlPlane) reconcile(ctx context.Context, obj *extensionsv1alpha1.ControlPlane) error {
	given, err := providerStatusOf(obj.Spec.InfrastructureProviderStatus)
	if err != nil {
		return err
	}
	content, err := json.Marshal(given)
	if err != nil {
		return fmt.Errorf("write the configuration of the cloud: %w", err)
	}
	config := cloudProviderConfig(obj)
	if _, err := controllerutil.CreateOrPatch(ctx, c.Client, config, func() error {
		config.Data = map[string]string{"cloud.json": string(content)}
		return nil
	}); err != nil {
		return fmt.Errorf("write the configuration of the cloud: %w", err)
	}
	ca, err := c.authority(ctx, obj.Namespace)
	if err != nil {
		return err
	}
	return c.shoot().deploy(ctx, obj.Namespace,
		configMap(metav1.NamespaceSystem, "example-cloud-ca", map[string]string{"ca.crt": string(ca.Data["ca.crt"])}),
		&storagev1.CSIDriver{
			TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"},
			ObjectMeta: metav1.ObjectMeta{Name: cloud.CSIDriver},
			Spec:       storagev1.CSIDriverSpec{AttachRequired: ptr.To(true), PodInfoOnMount: ptr.To(false)},
		},
		&storagev1.StorageClass{
			TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"},
			ObjectMeta: metav1.ObjectMeta{Name: "default",
				Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
			Provisioner: cloud.CSIDriver, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
		})
}

func cloudProviderConfig(obj *extensionsv1alpha1.ControlPlane) *corev1.ConfigMap {
	return configMap(obj.Namespace, "cloud-provider-config", nil)
}

const authorityName = "ca-provider-example-cloud-controlplane"

// authority is made once in the life of a shoot. With the label persist=true the gardenlet has brought it before a
// restore begins.
func (c controlPlane) authority(ctx context.Context, namespace string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: authorityName}, secret)
	if err == nil || !apierrors.IsNotFound(err) {
		return secret, err
	}
	certificate, key, err := pki.NewAuthorityPEM(pki.Request{Name: authorityName}, c.clock.Now())
	if err != nil {
		return nil, fmt.Errorf("make the authority: %w", err)
	}
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: authorityName,
			Labels: map[string]string{constants.Persist: constants.LabelTrue}},
		Data: map[string][]byte{"ca.crt": certificate, "ca.key": key},
	}
	if c.planted == losesAuthority {
		secret.Labels = nil
	}
	return secret, c.Create(ctx, secret)
}

func (c controlPlane) deployed(*extensionsv1alpha1.ControlPlane) (gardencorev1beta1.ConditionType, []checked) {
	return gardencorev1beta1.ShootControlPlaneHealthy, []checked{c.shoot()}
}

func (c controlPlane) migrate(ctx context.Context, obj *extensionsv1alpha1.ControlPlane) error {
	if err := c.shoot().leave(ctx, obj.Namespace); err != nil {
		return err
	}
	return discard(ctx, c.Client, cloudProviderConfig(obj))
}

func (c controlPlane) remove(ctx context.Context, obj *extensionsv1alpha1.ControlPlane) error {
	if err := c.shoot().remove(ctx, obj.Namespace); err != nil {
		return err
	}
	if err := discard(ctx, c.Client, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace,
		Name: authorityName}}); err != nil {
		return err
	}
	return discard(ctx, c.Client, cloudProviderConfig(obj))
}
