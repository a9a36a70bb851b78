// Package infrastructure makes what a shoot has in the cloud besides its worker machines: its network, the machine of a
// Bastion, and the load balancer of a self-hosted shoot. It adopts before it creates, so that a call whose answer was
// lost makes no second network.
//
// It does not make machines of worker pools: see package worker.
package infrastructure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// Provider makes it. Seed reads from the API server, not from a cache; Cloud must come from fence.Guarded.
type Provider struct {
	Seed  client.Client
	Cloud *cloud.Client
	Fence fence.Fence
}

const defaultNodesCIDR = "10.250.0.0/16"

// Kind is Infrastructure, the network of a shoot: network, a subnet per zone, router, security group, key pair. To
// migrate is to do nothing, because all that a restoration needs is in the state after every reconciliation.
func (p *Provider) Kind() contract.Kind[*extensionsv1alpha1.Infrastructure] {
	kind := contract.KindOf[*extensionsv1alpha1.Infrastructure](extensionsv1alpha1.InfrastructureResource)
	kind.Timeout = 20 * time.Minute
	own := func(act contract.Act[*extensionsv1alpha1.Infrastructure]) contract.Act[*extensionsv1alpha1.Infrastructure] {
		return fence.Owned(p.Fence, fence.OwnNamespace[*extensionsv1alpha1.Infrastructure], act)
	}
	kind.OnReconcile = own(p.reconcileInfrastructure)
	kind.OnDelete = own(p.deleteInfrastructure)
	kind.OnForceDelete = own(p.forceDeleteInfrastructure)
	return kind
}

// infra is one pass over one Infrastructure.
type infra struct {
	*Provider
	obj    *extensionsv1alpha1.Infrastructure
	config Config
	state  *State
	zones  []string
	egress string
}

func (p *Provider) reconcileInfrastructure(ctx context.Context, log logr.Logger, obj *extensionsv1alpha1.Infrastructure,
	cluster *contract.Cluster) error {
	i, err := p.readInfrastructure(obj, cluster)
	if err != nil {
		return err
	}
	if err := i.begin(ctx, log); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		i.ensureNetwork, i.ensureSubnets, i.ensureRouter, i.ensureSecurityGroup, i.ensureKeyPair,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	i.publish(ctx, cluster)
	return nil
}

func (p *Provider) readInfrastructure(obj *extensionsv1alpha1.Infrastructure, cluster *contract.Cluster) (*infra,
	error) {
	i := &infra{Provider: p, obj: obj, zones: zonesOf(cluster)}
	i.config.Workers = defaultNodesCIDR
	if networking := cluster.Shoot.Spec.Networking; networking != nil && networking.Nodes != nil {
		i.config.Workers = *networking.Nodes
	}
	if err := reference.Decode(obj.Spec.ProviderConfig, &i.config); err != nil {
		return nil, contract.WithCodes(err, gardencorev1beta1.ErrorConfigurationProblem)
	}
	if obj.Status.State != nil {
		i.state = &State{}
		if err := reference.Decode(obj.Status.State, i.state); err != nil {
			return nil, err
		}
	}
	return i, nil
}

func zonesOf(cluster *contract.Cluster) []string {
	var zones []string
	for _, worker := range cluster.Shoot.Spec.Provider.Workers {
		zones = append(zones, worker.Zones...)
		if len(worker.Zones) == 0 {
			zones = append(zones, DefaultZone(cluster.Shoot.Spec.Region))
		}
	}
	if len(zones) == 0 {
		zones = append(zones, DefaultZone(cluster.Shoot.Spec.Region))
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// DefaultZone is where a pool lives that names no zone.
func DefaultZone(region string) string { return region + "-a" }

// publish writes what others build on, from the resources as they are: nothing of it need survive a migration.
func (i *infra) publish(ctx context.Context, cluster *contract.Cluster) {
	status := &Status{
		TypeMeta:        metav1.TypeMeta{APIVersion: reference.APIVersion, Kind: "InfrastructureStatus"},
		NetworkID:       i.state.NetworkID,
		Subnets:         i.state.Subnets,
		RouterID:        i.state.RouterID,
		SecurityGroupID: i.state.SecurityGroupID,
		EgressIP:        i.egress,
	}
	if i.state.KeyPairID != "" {
		status.KeyPairName = i.obj.Namespace
	}
	contract.Publish(ctx, func() {
		i.obj.Status.ProviderStatus = reference.Encode(status)
		i.obj.Status.NodesCIDR = ptr.To(i.state.CIDR)
		i.obj.Status.EgressCIDRs = nil
		if i.egress != "" {
			i.obj.Status.EgressCIDRs = []string{i.egress + "/32"}
		}
		networking := &extensionsv1alpha1.InfrastructureStatusNetworking{Nodes: []string{i.state.CIDR}}
		if shoot := cluster.Shoot.Spec.Networking; shoot != nil {
			networking.Pods, networking.Services = list(shoot.Pods), list(shoot.Services)
		}
		i.obj.Status.Networking = networking
	})
}

func list(value *string) []string {
	if value == nil {
		return nil
	}
	return []string{*value}
}

// forceDeleteInfrastructure tries, and releases the object in any case: the user takes over what is left.
func (p *Provider) forceDeleteInfrastructure(ctx context.Context, log logr.Logger,
	obj *extensionsv1alpha1.Infrastructure, cluster *contract.Cluster) error {
	if err := p.deleteInfrastructure(ctx, log, obj, cluster); err != nil {
		log.Error(fmt.Errorf("delete the infrastructure: %w", err), "Cloud resources stay behind after a forced deletion")
	}
	return ctx.Err()
}
