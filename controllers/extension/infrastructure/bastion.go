package infrastructure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// tagBastion marks a machine as the one of a Bastion, by its name.
const tagBastion = "transplant.dev/bastion"

// subnetPoll is the pause before the subnets of a shoot are looked for again.
const subnetPoll = 2 * time.Second

// bastionStatus is the provider status of a Bastion: the security group has no tag, so its id is kept here. It goes
// with the seed, as a Bastion does not move with its shoot.
type bastionStatus struct {
	metav1.TypeMeta `json:",inline"`

	SecurityGroupID string `json:"securityGroupID,omitempty"`
}

// Bastion makes a machine in the shoot's network that only some addresses may log in to. It begins none for a shoot
// that leaves this seed or is being deleted: nobody might be left who may delete it.
func (p *Provider) Bastion() contract.Kind[*extensionsv1alpha1.Bastion] {
	kind := contract.KindOf[*extensionsv1alpha1.Bastion](extensionsv1alpha1.BastionResource)
	namespace := fence.OwnNamespace[*extensionsv1alpha1.Bastion]
	kind.OnReconcile = fence.Owned(p.Fence, namespace, p.reconcileBastion)
	kind.OnDelete = fence.Owned(p.Fence, namespace, p.deleteBastion)
	return kind
}

func (p *Provider) reconcileBastion(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.Bastion,
	cluster *contract.Cluster) error {
	if reason := cluster.Leaving(); reason != "" && obj.Status.ProviderStatus == nil {
		return contract.WithCodes(fmt.Errorf("make bastion %q: the shoot %s: no bastion is begun", obj.Name, reason),
			gardencorev1beta1.ErrorRetryableConfigurationProblem)
	}
	subnets, err := p.Cloud.Subnets().List(ctx, fence.ShootTag(ctx))
	if err != nil {
		return fmt.Errorf("list the subnets of the shoot: %w", err)
	}
	if len(subnets) == 0 {
		return contract.WaitingFor(subnetPoll, "a subnet of the shoot")
	}
	group, err := p.ensureBastionGroup(ctx, obj, subnets[0].NetworkID)
	if err != nil {
		return err
	}
	machine, err := adopt(ctx, p.Cloud.Machines(), bastionFilter(ctx, obj))
	if err != nil {
		return err
	}
	if machine == nil {
		tags := fence.Tags(ctx)
		tags[tagBastion] = obj.Name
		wanted := &cloud.Machine{
			Name: "bastion-" + obj.Name, Type: "small", Zone: subnets[0].Zone, SubnetID: subnets[0].ID,
			SecurityGroupIDs: []string{group},
			UserData:         string(obj.Spec.UserData), Tags: tags,
		}
		if machine, err = p.Cloud.Machines().Create(ctx, wanted, cloud.ClientToken(string(obj.UID)+"/machine")); err != nil {
			return fmt.Errorf("create the bastion's machine: %w", err)
		}
	}
	return contract.PatchStatus(ctx, p.Seed, obj, func() {
		obj.Status.Ingress = &corev1.LoadBalancerIngress{IP: machine.PrivateIP, Hostname: machine.Hostname}
	})
}

func bastionFilter(ctx context.Context, obj *extensionsv1alpha1.Bastion) cloud.Filter {
	filter := fence.ShootTag(ctx)
	filter.Tags[tagBastion] = obj.Name
	return filter
}

// ensureBastionGroup keeps the rules of the bastion's own security group. The token makes its creation idempotent, so
// that an id which was not saved is learnt again.
func (p *Provider) ensureBastionGroup(ctx context.Context, obj *extensionsv1alpha1.Bastion, network string) (string,
	error) {
	status := bastionStatus{TypeMeta: metav1.TypeMeta{APIVersion: reference.APIVersion, Kind: "BastionStatus"}}
	if err := reference.Decode(obj.Status.ProviderStatus, &status); err != nil {
		return "", err
	}
	group, err := find(ctx, p.Cloud.SecurityGroups(), status.SecurityGroupID)
	if err != nil {
		return "", err
	}
	if group == nil {
		token := fmt.Sprintf("%s/group/%s", obj.UID, status.SecurityGroupID)
		if group, err = p.Cloud.SecurityGroups().Create(ctx, &cloud.SecurityGroup{NetworkID: network},
			cloud.ClientToken(token)); err != nil {
			return "", fmt.Errorf("create the bastion's security group: %w", err)
		}
		status.SecurityGroupID = group.ID
		if err := contract.PatchStatus(ctx, p.Seed, obj, func() {
			obj.Status.ProviderStatus = reference.Encode(status)
		}); err != nil {
			return "", err
		}
	}
	var rules []cloud.SecurityRule
	for _, ingress := range obj.Spec.Ingress {
		rules = append(rules, cloud.SecurityRule{Direction: "ingress", Protocol: "tcp", Ports: "22",
			CIDR: ingress.IPBlock.CIDR})
	}
	if slices.Equal(rules, group.Rules) {
		return group.ID, nil
	}
	group.Rules = rules
	if _, err := p.Cloud.SecurityGroups().Update(ctx, group.ID, group); err != nil {
		return "", fmt.Errorf("update the bastion's security group: %w", err)
	}
	return group.ID, nil
}

func (p *Provider) deleteBastion(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.Bastion,
	_ *contract.Cluster) error {
	if err := removeFound(ctx, "machine of the bastion", p.Cloud.Machines(), bastionFilter(ctx, obj)); err != nil {
		return err
	}
	status := bastionStatus{}
	if err := reference.Decode(obj.Status.ProviderStatus, &status); err != nil || status.SecurityGroupID == "" {
		return err
	}
	if err := p.Cloud.SecurityGroups().Delete(ctx, status.SecurityGroupID); err != nil && !cloud.IsNotFound(err) {
		return fmt.Errorf("delete the bastion's security group: %w", err)
	}
	return nil
}
