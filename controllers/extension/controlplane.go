package extension

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

const (
	// controlPlaneManagedResource has what the cloud's part of the control plane needs in the shoot.
	controlPlaneManagedResource = "extension-controlplane-shoot"
	// cloudConfigMap gives the cloud's part of the control plane the address of the cloud.
	cloudConfigMap = "cloud-provider-config"
	// controlPlaneCA is the authority that clients in the shoot know this provider's servers by.
	controlPlaneCA = "ca-provider-transplant-controlplane"
	// controlPlaneServer is a server certificate of it, made anew on every seed.
	controlPlaneServer = "provider-transplant-controlplane-server"
)

func controlPlaneKind() contract.Kind[*extensionsv1alpha1.ControlPlane] {
	kind := contract.KindOf[*extensionsv1alpha1.ControlPlane](extensionsv1alpha1.ControlPlaneResource)
	kind.Wakes = []client.Object{&resourcesv1alpha1.ManagedResource{}}
	return kind
}

// controlPlane deploys what the cloud adds to a control plane. It keeps no state of its own: its authority is a Secret
// labelled persist=true, which the gardenlet carries over (docs/specification/extensions.md#spec-3-8).
func (p *Provider) controlPlane() contract.Actions[*extensionsv1alpha1.ControlPlane] {
	return contract.Actions[*extensionsv1alpha1.ControlPlane]{
		OnReconcile:   p.reconcileControlPlane,
		OnDelete:      p.deleteControlPlane,
		OnForceDelete: p.forceDeleteControlPlane,
		OnMigrate:     p.migrateControlPlane,
	}
}

// infrastructureOf reads the Infrastructure's provider status that an object was given. It is fresh from this seed's
// Infrastructure: nothing else has it (docs/specification/extensions.md#spec-3-8).
func infrastructureOf(obj client.Object, status *InfrastructureStatus, given error) error {
	if given == nil && status.NetworkID == "" {
		given = errors.New("it is empty")
	}
	if given != nil {
		err := fmt.Errorf("read the infrastructureProviderStatus of %q: %w", obj.GetName(), given)
		return contract.WithCodes(err, gardencorev1beta1.ErrorConfigurationProblem)
	}
	return nil
}

func (p *Provider) reconcileControlPlane(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.ControlPlane,
	_ *contract.Cluster) error {
	infrastructure := &InfrastructureStatus{}
	err := decode(obj.Spec.InfrastructureProviderStatus, infrastructure)
	if err := infrastructureOf(obj, infrastructure, err); err != nil {
		return err
	}
	config, err := yaml.Marshal(map[string]any{
		"region": obj.Spec.Region, "networkID": infrastructure.NetworkID, "routerID": infrastructure.RouterID,
		"subnets": infrastructure.Subnets,
	})
	if err != nil {
		return fmt.Errorf("marshal the cloud provider config: %w", err)
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: cloudConfigMap}}
	if err := apply(ctx, p.Seed, configMap, func(c *corev1.ConfigMap) {
		c.Data = map[string]string{"cloudprovider.yaml": string(config)}
	}); err != nil {
		return err
	}
	ca, err := p.ensureAuthority(ctx, obj.Namespace, controlPlaneCA)
	if err != nil {
		return err
	}
	if err := p.ensureServerCertificate(ctx, ca, obj.Namespace, controlPlaneServer); err != nil {
		return err
	}
	return p.deployManaged(ctx, obj.Namespace, controlPlaneManagedResource, controlPlaneObjects(ca))
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

func (p *Provider) deleteControlPlane(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.ControlPlane,
	_ *contract.Cluster) error {
	if err := p.deleteManaged(ctx, obj.Namespace, controlPlaneManagedResource); err != nil {
		return err
	}
	return p.discardAll(ctx, obj.Namespace, controlPlaneCA)
}

func (p *Provider) forceDeleteControlPlane(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.ControlPlane,
	_ *contract.Cluster) error {
	if err := p.forceDeleteManaged(ctx, obj.Namespace, controlPlaneManagedResource); err != nil {
		return err
	}
	return p.discardAll(ctx, obj.Namespace, controlPlaneCA)
}

// migrateControlPlane removes what was deployed into the seed, but not from the shoot, and not what is persisted.
func (p *Provider) migrateControlPlane(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.ControlPlane,
	_ *contract.Cluster) error {
	if err := p.leaveManaged(ctx, obj.Namespace, controlPlaneManagedResource); err != nil {
		return err
	}
	return p.discardAll(ctx, obj.Namespace)
}

func (p *Provider) discardAll(ctx context.Context, namespace string, persisted ...string) error {
	objects := []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cloudConfigMap}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: controlPlaneServer}},
	}
	for _, name := range persisted {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	for _, object := range objects {
		if err := discard(ctx, p.Seed, object); err != nil {
			return err
		}
	}
	return nil
}
