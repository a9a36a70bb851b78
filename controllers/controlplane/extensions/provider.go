package extensions

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Infrastructure is the Infrastructure object of a shoot.
type Infrastructure struct {
	*scope.Scope
	objects *contract.Objects
	secrets *secrets.Secrets
	status  *run.Status
}

// NewInfrastructure makes it over a scope.
func NewInfrastructure(s *scope.Scope) *Infrastructure {
	return &Infrastructure{s, &contract.Objects{Scope: s}, &secrets.Secrets{Scope: s}, &run.Status{Scope: s}}
}

// object is the shoot's Infrastructure object, by name only.
func (i *Infrastructure) object() *extensionsv1alpha1.Infrastructure {
	return &extensionsv1alpha1.Infrastructure{ObjectMeta: i.Meta(i.Shoot.Name)}
}

// Deploy deploys or restores the Infrastructure.
func (i *Infrastructure) Deploy(ctx context.Context) error {
	key, err := i.secrets.Data(ctx, secrets.SSHKeyPair)
	if err != nil {
		return err
	}
	return i.deploy(ctx, i.object(), key["id_rsa.pub"])
}

func (i *Infrastructure) deploy(ctx context.Context, object *extensionsv1alpha1.Infrastructure, sshKey []byte) error {
	return i.objects.Deploy(ctx, object, func() error {
		object.Spec = extensionsv1alpha1.InfrastructureSpec{
			DefaultSpec:  i.objects.ProviderSpec(i.Shoot.Spec.Provider.InfrastructureConfig),
			Region:       i.Shoot.Spec.Region,
			SecretRef:    i.objects.CloudProviderRef(),
			SSHPublicKey: sshKey,
		}
		return nil
	})
}

// Wait waits for the Infrastructure and takes over the networks it found. Extensions that come after it find them in
// the Cluster.
func (i *Infrastructure) Wait(ctx context.Context) error {
	infrastructure := i.object()
	if err := i.objects.Wait(ctx, infrastructure); err != nil {
		return err
	}
	ranges := scope.RangesOf(i.Shoot)
	networking := &gardencorev1beta1.NetworkingStatus{
		Pods: []string{ranges.Pods}, Services: []string{ranges.Services},
		Nodes:       []string{ptr.Deref(infrastructure.Status.NodesCIDR, scope.ShootNodes)},
		EgressCIDRs: infrastructure.Status.EgressCIDRs,
	}
	err := i.status.Patch(ctx, func(status *gardencorev1beta1.ShootStatus) { status.Networking = networking })
	if err != nil || equality.Semantic.DeepEqual(networking, i.Shoot.Status.Networking) {
		return err
	}
	return (&Cluster{i.Scope}).Sync(ctx)
}

// ProviderStatus is the provider status that ControlPlane and Worker are given
// (docs/specification/extensions.md#spec-3-8).
func (i *Infrastructure) ProviderStatus(ctx context.Context) (*runtime.RawExtension, error) {
	infrastructure := i.object()
	if err := i.Seed.Get(ctx, i.Key(infrastructure.Name), infrastructure); err != nil {
		return nil, patch.Describe("read", infrastructure, i.Seed, err)
	}
	return infrastructure.Status.ProviderStatus, nil
}

// Reclaim does without the key pair of the nodes: it may be lost, and there are no nodes.
func (i *Infrastructure) Reclaim(ctx context.Context) error {
	object := i.object()
	if err := i.deploy(ctx, object, nil); err != nil {
		return err
	}
	return i.objects.WaitTakenUp(ctx, object)
}

// Destroy first deletes the Bastions that somebody has made in the meantime: they stand in its networks.
func (i *Infrastructure) Destroy(ctx context.Context) error {
	if err := i.objects.DeleteAll(extensionsv1alpha1.BastionResource)(ctx); err != nil {
		return err
	}
	return i.objects.DeleteAll(extensionsv1alpha1.InfrastructureResource)(ctx)
}

// ControlPlane is the ControlPlane object of a shoot.
type ControlPlane struct {
	*scope.Scope
	objects        *contract.Objects
	infrastructure *Infrastructure
}

// NewControlPlane makes it over a scope.
func NewControlPlane(s *scope.Scope) *ControlPlane {
	return &ControlPlane{Scope: s, objects: &contract.Objects{Scope: s}, infrastructure: NewInfrastructure(s)}
}

// object is the shoot's ControlPlane object, by name only.
func (c *ControlPlane) object() *extensionsv1alpha1.ControlPlane {
	return &extensionsv1alpha1.ControlPlane{ObjectMeta: c.Meta(c.Shoot.Name)}
}

// Deploy deploys or restores the ControlPlane.
func (c *ControlPlane) Deploy(ctx context.Context) error {
	status, err := c.infrastructure.ProviderStatus(ctx)
	if err != nil {
		return err
	}
	controlPlane := c.object()
	return c.objects.Deploy(ctx, controlPlane, func() error {
		controlPlane.Spec = extensionsv1alpha1.ControlPlaneSpec{
			DefaultSpec:                  c.objects.ProviderSpec(c.Shoot.Spec.Provider.ControlPlaneConfig),
			Region:                       c.Shoot.Spec.Region,
			SecretRef:                    c.objects.CloudProviderRef(),
			InfrastructureProviderStatus: status,
		}
		return nil
	})
}

// Wait waits for the ControlPlane.
func (c *ControlPlane) Wait(ctx context.Context) error {
	return c.objects.Wait(ctx, c.object())
}

// Network is the Network object of a shoot.
type Network struct {
	*scope.Scope
	objects *contract.Objects
}

// NewNetwork makes it over a scope.
func NewNetwork(s *scope.Scope) *Network {
	return &Network{Scope: s, objects: &contract.Objects{Scope: s}}
}

// object is the shoot's Network object, by name only.
func (n *Network) object() *extensionsv1alpha1.Network {
	return &extensionsv1alpha1.Network{ObjectMeta: n.Meta(n.Shoot.Name)}
}

// Deploy deploys or restores the Network.
func (n *Network) Deploy(ctx context.Context) error {
	network := n.object()
	return n.objects.Deploy(ctx, network, func() error {
		ranges := scope.RangesOf(n.Shoot)
		network.Spec = extensionsv1alpha1.NetworkSpec{
			DefaultSpec: n.objects.ProviderSpec(nil), PodCIDR: ranges.Pods, ServiceCIDR: ranges.Services,
		}
		if networking := n.Shoot.Spec.Networking; networking != nil {
			network.Spec.ProviderConfig = networking.ProviderConfig
			network.Spec.Type = ptr.Deref(networking.Type, network.Spec.Type)
			for _, family := range networking.IPFamilies {
				network.Spec.IPFamilies = append(network.Spec.IPFamilies, extensionsv1alpha1.IPFamily(family))
			}
		}
		return nil
	})
}

// Wait waits for the Network.
func (n *Network) Wait(ctx context.Context) error { return n.objects.Wait(ctx, n.object()) }

// annotationGenericKubeconfig of a Cluster names the Secret with the kubeconfig for pods that mount a token.
const annotationGenericKubeconfig = "generic-token-kubeconfig.secret.gardener.cloud/name"

// Cluster is the Cluster object, by which extensions learn of the shoot.
type Cluster struct{ *scope.Scope }

// Sync writes the Cluster object, by which extensions learn of the shoot, from the raw objects of the
// garden, so that fields which our types do not model reach them (docs/specification/api.md#spec-1-9).
func (u *Cluster) Sync(ctx context.Context) error {
	shoot, err := u.raw(ctx, "Shoot", u.Shoot.Namespace, u.Shoot.Name)
	if err != nil {
		return err
	}
	seed, err := u.raw(ctx, "Seed", "", u.SeedName)
	if err != nil {
		return err
	}
	profileName := ptr.Deref(u.Shoot.Spec.CloudProfileName, "")
	if u.Shoot.Spec.CloudProfile != nil {
		profileName = u.Shoot.Spec.CloudProfile.Name
	}
	profile, err := u.raw(ctx, "CloudProfile", "", profileName)
	if err != nil {
		return err
	}
	cluster := &extensionsv1alpha1.Cluster{}
	cluster.Name = u.Namespace()
	deploy := patch.CreateOrPatch[*extensionsv1alpha1.Cluster]
	if u.Restoring() { // most seeds have nothing of it
		deploy = patch.CreateFirst
	}
	return deploy(ctx, u.Seed, cluster, func(c *extensionsv1alpha1.Cluster) error {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, annotationGenericKubeconfig, secrets.GenericTokenKubeconfig)
		c.Spec.Shoot, c.Spec.Seed, c.Spec.CloudProfile = *shoot, *seed, *profile
		return nil
	})
}

// ReportFailed lets extensions know of a shoot whose operation has failed for good, if they do not: they stop as well,
// until the next flow begins (docs/specification/extensions.md#spec-3-2). A Cluster that there is not is not made for
// it.
func (u *Cluster) ReportFailed(ctx context.Context) error {
	cluster := &extensionsv1alpha1.Cluster{}
	cluster.Name = u.Namespace()
	if err := u.Seed.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return patch.Describe("read", cluster, u.Seed, client.IgnoreNotFound(err))
	}
	known := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, known); err != nil {
		return fmt.Errorf("read the shoot of Cluster %q: %w", cluster.Name, err)
	}
	if last := known.Status.LastOperation; last != nil && last.State == gardencorev1beta1.LastOperationStateFailed {
		return nil
	}
	shoot, err := u.raw(ctx, "Shoot", u.Shoot.Namespace, u.Shoot.Name)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(patch.Object(ctx, u.Seed, cluster, func() { cluster.Spec.Shoot = *shoot }))
}

func (u *Cluster) raw(ctx context.Context, kind, namespace, name string) (*runtime.RawExtension, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind(kind))
	if err := u.Garden.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("read %s %q: %w", kind, name, err)
	}
	object.SetManagedFields(nil)
	if err := nameNodes(object.Object); err != nil {
		return nil, fmt.Errorf("take over the network of the nodes of %s %q: %w", kind, name, err)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %q: %w", kind, name, err)
	}
	return &runtime.RawExtension{Raw: data}, nil
}

// nameNodes gives a shoot that names no network of its nodes the one that the infrastructure has chosen: Gardener
// writes it into the specification of the Shoot (docs/deviations.md).
func nameNodes(shoot map[string]any) error {
	_, named, _ := unstructured.NestedString(shoot, "spec", "networking", "nodes")
	chosen, _, err := unstructured.NestedStringSlice(shoot, "status", "networking", "nodes")
	if named || err != nil || len(chosen) == 0 {
		return err
	}
	return unstructured.SetNestedField(shoot, chosen[0], "spec", "networking", "nodes")
}

// Delete deletes the Cluster object.
func (u *Cluster) Delete(ctx context.Context) error {
	cluster := &extensionsv1alpha1.Cluster{}
	cluster.Name = u.Namespace()
	return objects.Remove(ctx, u.Seed, cluster)
}
