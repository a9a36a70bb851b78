package main

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const networkType = "example-net"

// network brings the network's agent to the nodes, and what monitors it to the seed. It has no state: everything
// follows from the spec.
type network struct {
	*program
	shoot, monitoring managed
}

var _ actuator[*extensionsv1alpha1.Network] = network{}

func addNetwork(p *program) error {
	return serve(p, extensionsv1alpha1.NetworkResource, networkType,
		network{p, p.inShoot("extension-networking-example-net"), p.onSeed("extension-networking-example-net-seed")})
}

func (n network) reconcile(ctx context.Context, obj *extensionsv1alpha1.Network) error {
	config, err := json.Marshal(map[string]any{"podCIDR": obj.Spec.PodCIDR, "serviceCIDR": obj.Spec.ServiceCIDR,
		"mtu": n.config.Settings["mtu"]})
	if err != nil {
		return fmt.Errorf("write the configuration of the agent: %w", err)
	}
	const name = "example-net"
	if err := n.shoot.deploy(ctx, obj.Namespace,
		configMap(metav1.NamespaceSystem, name, map[string]string{"config.json": string(config)}),
		nodeAgent(name, nil)); err != nil {
		return err
	}
	if err := n.monitoring.deploy(ctx, obj.Namespace, configMap(obj.Namespace, name+"-dashboards",
		map[string]string{"nodes.json": "{}"})); err != nil {
		return err
	}
	scrape := scrapeConfig(obj)
	if _, err := controllerutil.CreateOrPatch(ctx, n.Client, scrape, func() error {
		return unstructured.SetNestedMap(scrape.Object, map[string]any{"jobName": name,
			"kubernetesSDConfigs": []any{map[string]any{"role": "Pod"}}}, "spec")
	}); err != nil {
		return fmt.Errorf("write the scrape configuration: %w", err)
	}
	families := obj.Spec.IPFamilies
	if len(families) == 0 {
		families = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPFamilyIPv4}
	}
	return patchStatus(ctx, n.Client, obj, func() { obj.Status.IPFamilies = families })
}

// scrapeConfig is what the shoot's Prometheus reads. It is in no ManagedResource.
func scrapeConfig(obj *extensionsv1alpha1.Network) *unstructured.Unstructured {
	scrape := &unstructured.Unstructured{}
	scrape.SetAPIVersion("monitoring.coreos.com/v1alpha1")
	scrape.SetKind("ScrapeConfig")
	scrape.SetNamespace(obj.Namespace)
	scrape.SetName("shoot-example-net")
	return scrape
}

func (n network) deployed(*extensionsv1alpha1.Network) (gardencorev1beta1.ConditionType, []checked) {
	return gardencorev1beta1.ShootSystemComponentsHealthy, []checked{n.shoot, n.monitoring}
}

func (n network) migrate(ctx context.Context, obj *extensionsv1alpha1.Network) error {
	if err := n.shoot.leave(ctx, obj.Namespace); err != nil {
		return err
	}
	return n.leaveSeed(ctx, obj)
}

func (n network) leaveSeed(ctx context.Context, obj *extensionsv1alpha1.Network) error {
	if n.planted != leavesSeedObject {
		if err := discard(ctx, n.Client, scrapeConfig(obj)); err != nil {
			return err
		}
	}
	return n.monitoring.remove(ctx, obj.Namespace)
}

func (n network) remove(ctx context.Context, obj *extensionsv1alpha1.Network) error {
	if err := n.shoot.remove(ctx, obj.Namespace); err != nil {
		return err
	}
	return n.leaveSeed(ctx, obj)
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data,
	}
}

// nodeAgent is a privileged pod on each node that the labels select. A new node takes no other pods before it is ready.
func nodeAgent(name string, nodes map[string]string) *appsv1.DaemonSet {
	labels := map[string]string{"app": name, constants.NodeCriticalComponent: constants.LabelTrue}
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					PriorityClassName: "system-node-critical", HostNetwork: true, NodeSelector: nodes,
					AutomountServiceAccountToken: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](0),
					Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{Name: "agent", Image: "example.org/" + name + ":v1",
						SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)}}},
				},
			},
		},
	}
}
