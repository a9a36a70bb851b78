package infrastructure

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
)

// Exposure gives the control plane of a self-hosted shoot a load balancer.
func (p *Provider) Exposure() contract.Kind[*extensionsv1alpha1.SelfHostedShootExposure] {
	kind := contract.KindOf[*extensionsv1alpha1.SelfHostedShootExposure](
		extensionsv1alpha1.SelfHostedShootExposureResource)
	namespace := fence.OwnNamespace[*extensionsv1alpha1.SelfHostedShootExposure]
	kind.OnReconcile = fence.Owned(p.Fence, namespace, p.reconcileExposure)
	kind.OnDelete = fence.Owned(p.Fence, namespace, p.deleteExposure)
	return kind
}

func exposureName(obj *extensionsv1alpha1.SelfHostedShootExposure) string {
	return obj.Namespace + "-" + obj.Name
}

func (p *Provider) reconcileExposure(ctx context.Context, _ logr.Logger,
	obj *extensionsv1alpha1.SelfHostedShootExposure, _ *contract.Cluster) error {
	ports := exposedPorts(obj)
	balancer, err := adopt(ctx, p.Cloud.LoadBalancers(), cloud.Filter{Name: exposureName(obj)})
	if err != nil {
		return err
	}
	switch {
	case balancer == nil:
		wanted := &cloud.LoadBalancer{Name: exposureName(obj), Ports: ports, Tags: fence.Tags(ctx)}
		if balancer, err = p.Cloud.LoadBalancers().Create(ctx, wanted, cloud.ClientToken(string(obj.UID))); err != nil {
			return fmt.Errorf("create the load balancer: %w", err)
		}
	case !slices.Equal(balancer.Ports, ports):
		balancer.Ports = ports
		if balancer, err = p.Cloud.LoadBalancers().Update(ctx, balancer.ID, balancer); err != nil {
			return fmt.Errorf("update the load balancer: %w", err)
		}
	}
	contract.Publish(ctx, func() {
		obj.Status.Ingress = nil
		for _, address := range balancer.Addresses {
			obj.Status.Ingress = append(obj.Status.Ingress, corev1.LoadBalancerIngress{IP: address})
		}
	})
	return nil
}

// exposedPorts are those of the control plane's nodes, each once.
func exposedPorts(obj *extensionsv1alpha1.SelfHostedShootExposure) []int32 {
	var ports []int32
	for _, endpoint := range obj.Spec.Endpoints {
		ports = append(ports, endpoint.Port)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

func (p *Provider) deleteExposure(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.SelfHostedShootExposure,
	_ *contract.Cluster) error {
	return removeFound(ctx, "load balancer of the exposure", p.Cloud.LoadBalancers(),
		cloud.Filter{Name: exposureName(obj)})
}
