package managed

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/nodecritical"
)

// networkName is what the network plugin's objects in the shoot are called.
const networkName = "transplant-network"

// NetworkResource has what the network plugin runs by in the shoot.
const NetworkResource = "extension-networking-transplant"

// Network configures the shoot's network plugin. It needs no state: everything follows from the spec.
func (p *Provider) Network() contract.Kind[*extensionsv1alpha1.Network] {
	return kindOf(p, extensionsv1alpha1.NetworkResource,
		func(*extensionsv1alpha1.Network) string { return NetworkResource }, p.reconcileNetwork)
}

func (p *Provider) reconcileNetwork(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.Network,
	_ *contract.Cluster) error {
	if err := p.deployManaged(ctx, obj, NetworkResource, networkObjects(obj)); err != nil {
		return err
	}
	families := obj.Spec.IPFamilies
	if len(families) == 0 {
		families = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPFamilyIPv4}
	}
	contract.Publish(ctx, func() { obj.Status.IPFamilies = families })
	return nil
}

// networkObjects are the same on every seed, so that a migration changes nothing in the shoot.
func networkObjects(obj *extensionsv1alpha1.Network) map[string]client.Object {
	config := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: networkName},
		Data:       map[string]string{"podCIDR": obj.Spec.PodCIDR, "serviceCIDR": obj.Spec.ServiceCIDR},
	}
	if obj.Spec.ProviderConfig != nil {
		config.Data["config.json"] = string(obj.Spec.ProviderConfig.Raw)
	}
	return map[string]client.Object{
		"configmap.yaml": config,
		// It brings the network to the nodes: without it no pod of theirs has an address.
		"daemonset.yaml": nodecritical.DaemonSet(networkName, map[string]string{"app": networkName},
			corev1.Container{Name: "agent", Image: "transplant.dev/network:dev"}),
	}
}
