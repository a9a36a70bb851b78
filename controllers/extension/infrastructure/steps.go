package infrastructure

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-logr/logr"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
)

// begin decides what a missing state means. With nothing of the shoot in the cloud it is a new infrastructure, and the
// document is written before anything is created. Otherwise the document was lost: what carries a tag is adopted, and
// what does not is never created a second time (docs/contract.md#clause-d4).
func (i *infra) begin(ctx context.Context, log logr.Logger) error {
	if i.state != nil {
		return nil
	}
	networks, err := i.Cloud.Networks().List(ctx, fence.ShootTag(ctx))
	if err != nil {
		return fmt.Errorf("look for a network of the shoot: %w", err)
	}
	i.state = &State{Whole: len(networks) == 0, CIDR: i.config.Workers}
	if len(networks) > 0 {
		log.Info("The state is lost although the shoot has a network; adopting what can be found", "network", networks[0].ID)
	}
	return i.saveState(ctx, i.obj, i.state)
}

func (i *infra) ensureNetwork(ctx context.Context) error {
	if known, err := find(ctx, i.Cloud.Networks(), i.state.NetworkID); err != nil || known != nil {
		return err
	}
	found, err := adopt(ctx, i.Cloud.Networks(), fence.ShootTag(ctx))
	if err != nil {
		return err
	}
	if found == nil {
		found, err = create(ctx, i, "network", i.Cloud.Networks(), &cloud.Network{CIDR: i.state.CIDR, Tags: fence.Tags(ctx)})
		if err != nil {
			return err
		}
	}
	i.state.NetworkID, i.state.CIDR = found.ID, found.CIDR
	return i.settled(ctx, "network")
}

func (i *infra) ensureSubnets(ctx context.Context) error {
	existing, err := i.Cloud.Subnets().List(ctx, fence.ShootTag(ctx))
	if err != nil {
		return fmt.Errorf("list the subnets of the shoot: %w", err)
	}
	for _, subnet := range existing {
		if subnet.NetworkID == i.state.NetworkID {
			i.state.setSubnet(SubnetStatus{Zone: subnet.Zone, ID: subnet.ID, CIDR: subnet.CIDR})
		}
	}
	for _, zone := range i.zones {
		if err := i.ensureSubnet(ctx, zone, existing); err != nil {
			return err
		}
	}
	return nil
}

func (i *infra) ensureSubnet(ctx context.Context, zone string, existing []cloud.Subnet) error {
	name := "subnet-" + zone
	if known := i.state.subnet(zone); known != nil {
		for _, subnet := range existing {
			if subnet.ID == known.ID {
				return i.settled(ctx, name)
			}
		}
	}
	cidr, err := freeSubnet(i.state.CIDR, i.state.Subnets)
	if err != nil {
		return contract.WithCodes(err, gardencorev1beta1.ErrorConfigurationProblem)
	}
	made, err := create(ctx, i, name, i.Cloud.Subnets(), &cloud.Subnet{NetworkID: i.state.NetworkID, CIDR: cidr,
		Zone: zone, Tags: fence.Tags(ctx)})
	if err != nil {
		return err
	}
	i.state.setSubnet(SubnetStatus{Zone: zone, ID: made.ID, CIDR: made.CIDR})
	return i.settled(ctx, name)
}

func (i *infra) ensureRouter(ctx context.Context) error {
	const name = "router"
	router, err := find(ctx, i.Cloud.Routers(), cmp.Or(i.state.RouterID, i.config.RouterID))
	if err != nil {
		return err
	}
	if router == nil {
		if err := i.mayCreateUntagged(name, i.state.RouterID); err != nil {
			return err
		}
		if router, err = create(ctx, i, name, i.Cloud.Routers(), &cloud.Router{NetworkID: i.state.NetworkID}); err != nil {
			return err
		}
	}
	i.state.RouterID, i.egress = router.ID, router.ExternalIP
	return i.settled(ctx, name)
}

func (i *infra) ensureSecurityGroup(ctx context.Context) error {
	const name = "securityGroup"
	group, err := find(ctx, i.Cloud.SecurityGroups(), cmp.Or(i.state.SecurityGroupID, i.config.SecurityGroupID))
	if err != nil {
		return err
	}
	if group == nil {
		if err := i.mayCreateUntagged(name, i.state.SecurityGroupID); err != nil {
			return err
		}
		wanted := &cloud.SecurityGroup{NetworkID: i.state.NetworkID, Rules: securityRules(i.state.CIDR)}
		if group, err = create(ctx, i, name, i.Cloud.SecurityGroups(), wanted); err != nil {
			return err
		}
	}
	i.state.SecurityGroupID = group.ID
	return i.settled(ctx, name)
}

func securityRules(nodes string) []cloud.SecurityRule {
	return []cloud.SecurityRule{
		{Direction: "ingress", Protocol: "all", CIDR: nodes},
		{Direction: "egress", Protocol: "all", CIDR: "0.0.0.0/0"},
	}
}

func (i *infra) ensureKeyPair(ctx context.Context) error {
	if len(i.obj.Spec.SSHPublicKey) == 0 {
		return nil
	}
	known, err := find(ctx, i.Cloud.KeyPairs(), i.state.KeyPairID)
	if err != nil {
		return err
	}
	if known == nil {
		if known, err = adopt(ctx, i.Cloud.KeyPairs(), cloud.Filter{Name: i.obj.Namespace}); err != nil {
			return err
		}
	}
	if known != nil && known.PublicKey != string(i.obj.Spec.SSHPublicKey) {
		// Keys are never changed in the cloud, and machines that run keep theirs.
		if err := i.Cloud.KeyPairs().Delete(ctx, known.ID); err != nil && !cloud.IsNotFound(err) {
			return fmt.Errorf("delete the old key pair: %w", err)
		}
		known = nil
	}
	if known == nil {
		wanted := &cloud.KeyPair{Name: i.obj.Namespace, PublicKey: string(i.obj.Spec.SSHPublicKey), Tags: fence.Tags(ctx)}
		if known, err = create(ctx, i, "keyPair", i.Cloud.KeyPairs(), wanted); err != nil {
			return err
		}
	}
	i.state.KeyPairID = known.ID
	return i.settled(ctx, "keyPair")
}
