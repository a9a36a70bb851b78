package controlplane

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// secretCloudProvider holds the credentials with which extensions reach the cloud.
const secretCloudProvider = "cloudprovider"

func (o *Operation) cloudProviderRef() corev1.SecretReference {
	return corev1.SecretReference{Name: secretCloudProvider, Namespace: o.Namespace()}
}

func (o *Operation) providerSpec(config *runtime.RawExtension) extensionsv1alpha1.DefaultSpec {
	return extensionsv1alpha1.DefaultSpec{Type: o.Shoot.Spec.Provider.Type, ProviderConfig: config}
}

// Infrastructure is the shoot's Infrastructure object, by name only.
func (o *Operation) Infrastructure() *extensionsv1alpha1.Infrastructure {
	return &extensionsv1alpha1.Infrastructure{ObjectMeta: o.meta(o.Shoot.Name)}
}

// DeployInfrastructure deploys or restores the Infrastructure.
func (o *Operation) DeployInfrastructure(ctx context.Context) error {
	infrastructure := o.Infrastructure()
	key, err := o.SecretData(ctx, SecretSSHKeyPair)
	if err != nil {
		return err
	}
	return o.DeployExtension(ctx, infrastructure, func() error {
		infrastructure.Spec = extensionsv1alpha1.InfrastructureSpec{
			DefaultSpec:  o.providerSpec(o.Shoot.Spec.Provider.InfrastructureConfig),
			Region:       o.Shoot.Spec.Region,
			SecretRef:    o.cloudProviderRef(),
			SSHPublicKey: key["id_rsa.pub"],
		}
		return nil
	})
}

// WaitInfrastructure waits for the Infrastructure and takes over the networks it found.
func (o *Operation) WaitInfrastructure(ctx context.Context) error {
	infrastructure := o.Infrastructure()
	if err := o.WaitExtension(ctx, infrastructure); err != nil {
		return err
	}
	return o.PatchStatus(ctx, func(status *gardencorev1beta1.ShootStatus) {
		nodes := shootNodes
		if infrastructure.Status.NodesCIDR != nil {
			nodes = *infrastructure.Status.NodesCIDR
		}
		status.Networking = &gardencorev1beta1.NetworkingStatus{
			Pods: []string{shootPods}, Services: []string{shootServices}, Nodes: []string{nodes},
			EgressCIDRs: infrastructure.Status.EgressCIDRs,
		}
	})
}

// infrastructureStatus is the provider status that ControlPlane and Worker are given
// (docs/specification/extensions.md#spec-3-8).
func (o *Operation) infrastructureStatus(ctx context.Context) (*runtime.RawExtension, error) {
	infrastructure := o.Infrastructure()
	if err := o.Seed.Get(ctx, o.key(infrastructure.Name), infrastructure); err != nil {
		return nil, describe("read", infrastructure, o.Seed, err)
	}
	return infrastructure.Status.ProviderStatus, nil
}

// ControlPlaneExtension is the shoot's ControlPlane object, by name only.
func (o *Operation) ControlPlaneExtension() *extensionsv1alpha1.ControlPlane {
	return &extensionsv1alpha1.ControlPlane{ObjectMeta: o.meta(o.Shoot.Name)}
}

// DeployControlPlaneExtension deploys or restores the ControlPlane.
func (o *Operation) DeployControlPlaneExtension(ctx context.Context) error {
	status, err := o.infrastructureStatus(ctx)
	if err != nil {
		return err
	}
	controlPlane := o.ControlPlaneExtension()
	return o.DeployExtension(ctx, controlPlane, func() error {
		controlPlane.Spec = extensionsv1alpha1.ControlPlaneSpec{
			DefaultSpec:                  o.providerSpec(o.Shoot.Spec.Provider.ControlPlaneConfig),
			Region:                       o.Shoot.Spec.Region,
			SecretRef:                    o.cloudProviderRef(),
			InfrastructureProviderStatus: status,
		}
		return nil
	})
}

// Network is the shoot's Network object, by name only.
func (o *Operation) Network() *extensionsv1alpha1.Network {
	return &extensionsv1alpha1.Network{ObjectMeta: o.meta(o.Shoot.Name)}
}

// DeployNetwork deploys or restores the Network.
func (o *Operation) DeployNetwork(ctx context.Context) error {
	network := o.Network()
	return o.DeployExtension(ctx, network, func() error {
		network.Spec = extensionsv1alpha1.NetworkSpec{
			DefaultSpec: o.providerSpec(nil), PodCIDR: shootPods, ServiceCIDR: shootServices,
		}
		if networking := o.Shoot.Spec.Networking; networking != nil {
			network.Spec.ProviderConfig = networking.ProviderConfig
			network.Spec.Type = ptr.Deref(networking.Type, network.Spec.Type)
		}
		return nil
	})
}

// ContainerRuntimes are the ContainerRuntime objects that the shoot's pools ask for, by name and spec.
func (o *Operation) ContainerRuntimes() []*extensionsv1alpha1.ContainerRuntime {
	var runtimes []*extensionsv1alpha1.ContainerRuntime
	for _, worker := range o.Shoot.Spec.Provider.Workers {
		if worker.CRI == nil {
			continue
		}
		for _, wanted := range worker.CRI.ContainerRuntimes {
			r := &extensionsv1alpha1.ContainerRuntime{ObjectMeta: o.meta(wanted.Type + "-" + worker.Name)}
			r.Spec.Type, r.Spec.ProviderConfig = wanted.Type, wanted.ProviderConfig
			r.Spec.BinaryPath = "/var/bin/containerruntimes"
			r.Spec.WorkerPool.Name = worker.Name
			r.Spec.WorkerPool.Selector.MatchLabels = map[string]string{constants.WorkerPool: worker.Name}
			runtimes = append(runtimes, r)
		}
	}
	return runtimes
}

// DNSRecord is the shoot's internal DNSRecord, by name only.
func (o *Operation) DNSRecord() *extensionsv1alpha1.DNSRecord {
	return &extensionsv1alpha1.DNSRecord{ObjectMeta: o.meta(o.Shoot.Name + "-internal")}
}

// DeployDNSRecord points the shoot's internal name at this seed's gateway.
func (o *Operation) DeployDNSRecord(ctx context.Context) error {
	return o.pointAtGateway(ctx, o.DNSRecord(), extensionsv1alpha1.DNSRecordSpec{
		DefaultSpec: o.providerSpec(nil),
		SecretRef:   o.cloudProviderRef(),
		Zone:        ptr.To(o.InternalDomain),
		Name:        o.APIServerHost(),
	})
}

// pointAtGateway deploys or restores a DNSRecord of which spec says all but where it leads.
func (o *Operation) pointAtGateway(ctx context.Context, record *extensionsv1alpha1.DNSRecord,
	spec extensionsv1alpha1.DNSRecordSpec) error {
	addresses, err := o.GatewayAddresses(ctx)
	if err != nil {
		return err
	}
	spec.RecordType, spec.Values, spec.TTL = extensionsv1alpha1.DNSRecordTypeA, addresses,
		ptr.To(int64(o.DNSTTL.Seconds()))
	return o.DeployExtension(ctx, record, func() error {
		record.Spec = spec
		return nil
	})
}

// Worker is the shoot's Worker object, by name only.
func (o *Operation) Worker() *extensionsv1alpha1.Worker {
	return &extensionsv1alpha1.Worker{ObjectMeta: o.meta(o.Shoot.Name)}
}

// DeployWorker deploys or restores the Worker.
func (o *Operation) DeployWorker(ctx context.Context) error {
	status, err := o.infrastructureStatus(ctx)
	if err != nil {
		return err
	}
	key, err := o.SecretData(ctx, SecretSSHKeyPair)
	if err != nil {
		return err
	}
	pools, err := o.workerPools(ctx)
	if err != nil {
		return err
	}
	worker := o.Worker()
	return o.DeployExtension(ctx, worker, func() error {
		worker.Spec = extensionsv1alpha1.WorkerSpec{
			DefaultSpec:                  o.providerSpec(nil),
			Region:                       o.Shoot.Spec.Region,
			SecretRef:                    o.cloudProviderRef(),
			SSHPublicKey:                 key["id_rsa.pub"],
			InfrastructureProviderStatus: status,
			Pools:                        pools,
		}
		return nil
	})
}

// SyncCluster writes the Cluster object, by which extensions learn of the shoot, from the raw objects of the
// garden, so that fields which our types do not model reach them (docs/specification/api.md#spec-1-9).
func (o *Operation) SyncCluster(ctx context.Context) error {
	shoot, err := o.raw(ctx, "Shoot", o.Shoot.Namespace, o.Shoot.Name)
	if err != nil {
		return err
	}
	seed, err := o.raw(ctx, "Seed", "", o.SeedName)
	if err != nil {
		return err
	}
	profileName := ptr.Deref(o.Shoot.Spec.CloudProfileName, "")
	if o.Shoot.Spec.CloudProfile != nil {
		profileName = o.Shoot.Spec.CloudProfile.Name
	}
	profile, err := o.raw(ctx, "CloudProfile", "", profileName)
	if err != nil {
		return err
	}
	cluster := &extensionsv1alpha1.Cluster{}
	cluster.Name = o.Namespace()
	return createOrPatch(ctx, o.Seed, cluster, func(c *extensionsv1alpha1.Cluster) error {
		c.Spec.Shoot, c.Spec.Seed, c.Spec.CloudProfile = *shoot, *seed, *profile
		return nil
	})
}

// ReportFailed lets extensions know of a shoot whose operation has failed for good, if they do not: they stop as well,
// until the next flow begins (docs/specification/extensions.md#spec-3-2). A Cluster that there is not is not made for
// it.
func (o *Operation) ReportFailed(ctx context.Context) error {
	cluster := &extensionsv1alpha1.Cluster{}
	cluster.Name = o.Namespace()
	if err := o.Seed.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return describe("read", cluster, o.Seed, client.IgnoreNotFound(err))
	}
	known := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, known); err != nil {
		return fmt.Errorf("read the shoot of Cluster %q: %w", cluster.Name, err)
	}
	if last := known.Status.LastOperation; last != nil && last.State == gardencorev1beta1.LastOperationStateFailed {
		return nil
	}
	shoot, err := o.raw(ctx, "Shoot", o.Shoot.Namespace, o.Shoot.Name)
	if err != nil {
		return err
	}
	before := cluster.DeepCopy()
	cluster.Spec.Shoot = *shoot
	return describe("patch", cluster, o.Seed, client.IgnoreNotFound(o.Seed.Patch(ctx, cluster, client.MergeFrom(before))))
}

func (o *Operation) raw(ctx context.Context, kind, namespace, name string) (*runtime.RawExtension, error) {
	object := unstructuredOf(gardencorev1beta1.SchemeGroupVersion.WithKind(kind), namespace, name)
	if err := o.Garden.Get(ctx, keyOf(namespace, name), object); err != nil {
		return nil, fmt.Errorf("read %s %q: %w", kind, name, err)
	}
	object.SetManagedFields(nil)
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %q: %w", kind, name, err)
	}
	return &runtime.RawExtension{Raw: data}, nil
}
