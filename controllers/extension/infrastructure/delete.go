package infrastructure

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-logr/logr"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
)

// deleteInfrastructure removes what the state knows, and whatever else carries the shoot's tag, in the order of their
// dependencies. Each is forgotten only when it is gone, so that nothing is lost sight of half-way.
func (p *Provider) deleteInfrastructure(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.Infrastructure,
	cluster *contract.Cluster) error {
	i, err := p.readInfrastructure(obj, cluster)
	if err != nil {
		return err
	}
	i.state = cmp.Or(i.state, &State{})
	if err := i.resolvePending(ctx); err != nil {
		return err
	}
	own := fence.ShootTag(ctx)
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error {
			return removeFound(ctx, "load balancer of the shoot", i.Cloud.LoadBalancers(), own)
		},
		func(ctx context.Context) error {
			return removeFound(ctx, "volume of the shoot", i.Cloud.Volumes(), own)
		},
		i.removeKeyPair,
		func(ctx context.Context) error {
			return remove(ctx, i, i.Cloud.SecurityGroups(), &i.state.SecurityGroupID)
		},
		func(ctx context.Context) error { return remove(ctx, i, i.Cloud.Routers(), &i.state.RouterID) },
		i.removeSubnets,
		i.removeNetworks,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// resolvePending learns the ids of untagged resources whose creation was begun by this very object: by asking for
// them once more with the same token.
func (i *infra) resolvePending(ctx context.Context) error {
	if i.state.By != string(i.obj.UID) || i.state.NetworkID == "" {
		return nil
	}
	if i.state.Pending["router"] != "" && i.state.RouterID == "" {
		made, err := create(ctx, i, "router", i.Cloud.Routers(), &cloud.Router{NetworkID: i.state.NetworkID})
		if err != nil {
			return err
		}
		i.state.RouterID = made.ID
		if err := i.settled(ctx, "router"); err != nil {
			return err
		}
	}
	if i.state.Pending["securityGroup"] != "" && i.state.SecurityGroupID == "" {
		made, err := create(ctx, i, "securityGroup", i.Cloud.SecurityGroups(),
			&cloud.SecurityGroup{NetworkID: i.state.NetworkID, Rules: securityRules(i.state.CIDR)})
		if err != nil {
			return err
		}
		i.state.SecurityGroupID = made.ID
		return i.settled(ctx, "securityGroup")
	}
	return nil
}

// removeFound deletes what the filter finds. Errors name it by what, with its owner. With the tag of the shoot, it may
// be what the shoot's own controllers have made and could not remove any more: somebody took off the finalizers that
// waited (docs/specification/cleanup.md#spec-6-7).
func removeFound[T any, P interface {
	*T
	cloud.Resource
}](ctx context.Context, what string, from cloud.Collection[T], filter cloud.Filter) error {
	found, err := from.List(ctx, filter)
	if err != nil {
		return fmt.Errorf("list each %s: %w", what, err)
	}
	for _, one := range found {
		id := P(&one).Metadata().ID
		if err := from.Delete(ctx, id); err != nil && !cloud.IsNotFound(err) {
			return fmt.Errorf("delete the %s, id %q: %w", what, id, err)
		}
	}
	return nil
}

func (i *infra) removeKeyPair(ctx context.Context) error {
	if i.state.KeyPairID == "" {
		known, err := adopt(ctx, i.Cloud.KeyPairs(), cloud.Filter{Name: i.obj.Namespace})
		if err != nil || known == nil {
			return err
		}
		i.state.KeyPairID = known.ID
	}
	return remove(ctx, i, i.Cloud.KeyPairs(), &i.state.KeyPairID)
}

func (i *infra) removeSubnets(ctx context.Context) error {
	tagged, err := i.Cloud.Subnets().List(ctx, fence.ShootTag(ctx))
	if err != nil {
		return fmt.Errorf("list the subnets of the shoot: %w", err)
	}
	for _, subnet := range tagged {
		if err := remove(ctx, i, i.Cloud.Subnets(), &subnet.ID); err != nil {
			return err
		}
	}
	i.state.Subnets = nil
	return i.saveState(ctx, i.obj, i.state)
}

func (i *infra) removeNetworks(ctx context.Context) error {
	tagged, err := i.Cloud.Networks().List(ctx, fence.ShootTag(ctx))
	if err != nil {
		return fmt.Errorf("list the networks of the shoot: %w", err)
	}
	for _, network := range tagged {
		if err := remove(ctx, i, i.Cloud.Networks(), &network.ID); err != nil {
			return err
		}
	}
	i.state.NetworkID = ""
	return i.saveState(ctx, i.obj, i.state)
}

// remove deletes a resource if there is one, and then forgets its id.
func remove[T any](ctx context.Context, i *infra, from cloud.Collection[T], id *string) error {
	if *id == "" {
		return nil
	}
	if err := from.Delete(ctx, *id); err != nil && !cloud.IsNotFound(err) {
		return fmt.Errorf("delete the cloud resource %q: %w", *id, err)
	}
	*id = ""
	return i.saveState(ctx, i.obj, i.state)
}
