package managed

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/infrastructure"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

const (
	// ControlPlaneResource has what the cloud's part of the control plane needs in the shoot.
	ControlPlaneResource = "extension-controlplane-shoot"
	// CloudConfigMap gives the cloud's part of the control plane the address of the cloud.
	CloudConfigMap = "cloud-provider-config"
	// ControlPlaneCA is the authority that clients in the shoot know this provider's servers by.
	ControlPlaneCA = "ca-provider-transplant-controlplane"
	// ControlPlaneServer is a server certificate of it, made anew on every seed.
	ControlPlaneServer = "provider-transplant-controlplane-server"
)

// ControlPlane deploys what the cloud adds to a control plane. It keeps no state of its own: its authority is a Secret
// labelled persist=true, which the gardenlet carries over (docs/specification/extensions.md#spec-3-8).
func (p *Provider) ControlPlane() contract.Kind[*extensionsv1alpha1.ControlPlane] {
	kind := contract.KindOf[*extensionsv1alpha1.ControlPlane](extensionsv1alpha1.ControlPlaneResource)
	kind.Wakes = []client.Object{&resourcesv1alpha1.ManagedResource{}}
	kind.IgnoresCluster = true
	kind.OnReconcile = p.reconcileControlPlane
	kind.OnDelete = p.deleteControlPlane(p.deleteManaged)
	kind.OnForceDelete = p.deleteControlPlane(p.forceDeleteManaged)
	kind.OnMigrate = p.migrateControlPlane
	return kind
}

func (p *Provider) reconcileControlPlane(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.ControlPlane,
	_ *contract.Cluster) error {
	given, err := infrastructure.StatusOf(obj, obj.Spec.InfrastructureProviderStatus)
	if err != nil {
		return err
	}
	config, err := yaml.Marshal(map[string]any{
		"region": obj.Spec.Region, "networkID": given.NetworkID, "routerID": given.RouterID,
		"subnets": given.Subnets,
	})
	if err != nil {
		return fmt.Errorf("marshal the cloud provider config: %w", err)
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: CloudConfigMap}}
	if err := contract.Deploy(ctx, p.Seed, obj, configMap, func(c *corev1.ConfigMap) {
		c.Data = map[string]string{"cloudprovider.yaml": string(config)}
	}); err != nil {
		return err
	}
	ca, err := p.ensureAuthority(ctx, obj.Namespace, ControlPlaneCA)
	if err != nil {
		return err
	}
	if err := p.ensureServerCertificate(ctx, ca, obj, ControlPlaneServer); err != nil {
		return err
	}
	return p.deployManaged(ctx, obj, ControlPlaneResource, controlPlaneObjects(ca))
}

// controlPlaneObjects are the same on every seed, so that a migration changes nothing in the shoot.
func controlPlaneObjects(ca *corev1.Secret) map[string]client.Object {
	return map[string]client.Object{
		"storageclass.yaml": &storagev1.StorageClass{
			TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"},
			ObjectMeta: metav1.ObjectMeta{
				Name: "default", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
			},
			Provisioner:       cloud.CSIDriver,
			ReclaimPolicy:     ptr.To(corev1.PersistentVolumeReclaimDelete),
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
		},
		"csidriver.yaml": csiDriver(),
		"csi-node.yaml":  csiNodePlugin(),
		"ca.yaml": &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "provider-transplant-ca"},
			Data:       map[string]string{keyCertificate: string(ca.Data[keyCertificate])},
		},
	}
}

// deleteControlPlane deletes what was deployed into the seed, with what drop deletes.
func (p *Provider) deleteControlPlane(
	drop func(ctx context.Context, namespace, name string) error) contract.Act[*extensionsv1alpha1.ControlPlane] {
	return func(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.ControlPlane, _ *contract.Cluster) error {
		if err := drop(ctx, obj.Namespace, ControlPlaneResource); err != nil {
			return err
		}
		return p.discardAll(ctx, obj.Namespace, ControlPlaneCA)
	}
}

// migrateControlPlane removes what was deployed into the seed, but not from the shoot, and not what is persisted.
func (p *Provider) migrateControlPlane(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.ControlPlane,
	_ *contract.Cluster) error {
	if err := p.leaveManaged(ctx, obj.Namespace, ControlPlaneResource); err != nil {
		return err
	}
	return p.discardAll(ctx, obj.Namespace)
}

func (p *Provider) discardAll(ctx context.Context, namespace string, persisted ...string) error {
	objects := []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: CloudConfigMap}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ControlPlaneServer}},
	}
	for _, name := range persisted {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	for _, object := range objects {
		if err := reference.Discard(ctx, p.Seed, object); err != nil {
			return err
		}
	}
	return nil
}
