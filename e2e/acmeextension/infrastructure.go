package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// networks makes each shoot's network in the cloud, in place of the reference provider. The cloud would not say again
// which router and which security group are the shoot's: only the state knows.
type networks struct {
	client.Client
	cloud *cloud.Client
}

var _ actuator[*extensionsv1alpha1.Infrastructure] = networks{}

// network is what the state holds, and what the reference ControlPlane and Worker read in the provider status.
type network struct {
	ID            string   `json:"networkID"`
	Subnets       []subnet `json:"subnets"`
	Router        string   `json:"routerID"`
	SecurityGroup string   `json:"securityGroupID"`
}

type subnet struct {
	Zone string `json:"zone"`
	ID   string `json:"id"`
}

func (networks) ofType() string { return "transplant" }

func (n networks) ensure(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, state *runtime.RawExtension,
	keep func(func()) error) error {
	ctx, err := n.scoped(ctx, infra.Namespace)
	if err != nil {
		return err
	}
	has, token := network{}, string(infra.UID)
	if err := read(state, &has); err != nil {
		return err
	}
	if err := once(ctx, &has.ID, n.cloud.Networks(), &cloud.Network{CIDR: "10.250.0.0/16"}, token); err != nil {
		return err
	}
	if err := n.ensureSubnets(ctx, infra, &has); err != nil {
		return err
	}
	if err := once(ctx, &has.Router, n.cloud.Routers(), &cloud.Router{NetworkID: has.ID}, token); err != nil {
		return err
	}
	if err := once(ctx, &has.SecurityGroup, n.cloud.SecurityGroups(), &cloud.SecurityGroup{NetworkID: has.ID},
		token); err != nil {
		return err
	}
	content, err := write(has)
	if err != nil {
		return err
	}
	return keep(func() { infra.Status.State, infra.Status.ProviderStatus = content, content })
}

// ensureSubnets makes one for each zone in which the shoot has workers.
func (n networks) ensureSubnets(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, has *network) error {
	cluster, shoot := &extensionsv1alpha1.Cluster{}, &gardencorev1beta1.Shoot{}
	if err := n.Get(ctx, client.ObjectKey{Name: infra.Namespace}, cluster); err != nil {
		return fmt.Errorf("read the Cluster: %w", err)
	}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
		return fmt.Errorf("read the Shoot: %w", err)
	}
	for _, worker := range shoot.Spec.Provider.Workers {
		for _, zone := range worker.Zones {
			if slices.ContainsFunc(has.Subnets, func(s subnet) bool { return s.Zone == zone }) {
				continue
			}
			made := subnet{Zone: zone}
			wanted := &cloud.Subnet{NetworkID: has.ID, Zone: zone, CIDR: fmt.Sprintf("10.250.%d.0/20", 16*len(has.Subnets))}
			if err := once(ctx, &made.ID, n.cloud.Subnets(), wanted, string(infra.UID)+zone); err != nil {
				return err
			}
			has.Subnets = append(has.Subnets, made)
		}
	}
	return nil
}

// migrate has nothing to do: nothing of a network is on the seed.
func (networks) migrate(context.Context, *extensionsv1alpha1.Infrastructure) error { return nil }

func (n networks) remove(ctx context.Context, infra *extensionsv1alpha1.Infrastructure) error {
	ctx, err := n.scoped(ctx, infra.Namespace)
	if err != nil {
		return err
	}
	has := network{}
	if err := read(infra.Status.State, &has); err != nil {
		return err
	}
	if err := gone(ctx, n.cloud.SecurityGroups(), has.SecurityGroup); err != nil {
		return err
	}
	if err := gone(ctx, n.cloud.Routers(), has.Router); err != nil {
		return err
	}
	for _, subnet := range has.Subnets {
		if err := gone(ctx, n.cloud.Subnets(), subnet.ID); err != nil {
			return err
		}
	}
	return gone(ctx, n.cloud.Networks(), has.ID)
}

// scoped lets calls of the cloud say for which shoot they are, and as which owner of it.
func (n networks) scoped(ctx context.Context, shoot string) (context.Context, error) {
	namespace := &corev1.Namespace{}
	if err := n.Get(ctx, client.ObjectKey{Name: shoot}, namespace); err != nil {
		return nil, fmt.Errorf("read the namespace: %w", err)
	}
	epoch, err := strconv.ParseInt(namespace.Annotations["transplant.dev/epoch"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the owner's epoch: %w", err)
	}
	return cloud.WithScope(ctx, cloud.Scope{Shoot: shoot, Epoch: epoch}), nil
}

// once makes what has no id yet. After a crash before the id was kept, the same token gets the same again.
func once[T any](ctx context.Context, id *string, in cloud.Collection[T], wanted *T, token string) error {
	if *id != "" {
		return nil
	}
	made, err := in.Create(ctx, wanted, cloud.ClientToken(token))
	if err != nil {
		return fmt.Errorf("create a %T: %w", *wanted, err)
	}
	*id = any(made).(cloud.Resource).Metadata().ID
	return nil
}

func gone[T any](ctx context.Context, in cloud.Collection[T], id string) error {
	if id == "" {
		return nil
	}
	if err := in.Delete(ctx, id); err != nil && !cloud.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", id, err)
	}
	return nil
}
