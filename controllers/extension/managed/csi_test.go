package managed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// TestNodesWait: the form by which nodes know what to wait for (docs/specification/nodes-and-seeds.md#spec-7-1), of the
// CSI driver and of the network's agent.
func TestNodesWait(t *testing.T) {
	t.Parallel()
	network, _ := networkObjects(&extensionsv1alpha1.Network{})["daemonset.yaml"].(*appsv1.DaemonSet)
	for name, set := range map[string]*appsv1.DaemonSet{"csi-driver-node": csiNodePlugin(),
		"transplant-network": network} {
		if set == nil || set.Name != name || set.Namespace != "kube-system" {
			t.Errorf("there is no %q: %+v", name, set)
			continue
		}
		labels := map[string]string{"app": name, "node.gardener.cloud/critical-component": "true"}
		if diff := cmp.Diff(labels, set.Labels) + cmp.Diff(labels, set.Spec.Template.Labels); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]string{"app": name}, set.Spec.Selector.MatchLabels); diff != "" {
			t.Errorf("selector of %s (-want +got):\n%s", name, diff)
		}
		pod := set.Spec.Template.Spec
		if len(pod.Tolerations) != 1 || pod.Tolerations[0].Operator != "Exists" {
			t.Errorf("%s tolerates %v: it must come to nodes that wait", name, pod.Tolerations)
		}
		if grace := pod.TerminationGracePeriodSeconds; grace == nil || *grace != 0 {
			t.Errorf("pods on nodes that have gone would keep %s for a grace period of %v", name, grace)
		}
	}
}

// TestNodesWaitForTheDriver: the form in which kubelets register it.
func TestNodesWaitForTheDriver(t *testing.T) {
	t.Parallel()
	plugin := csiNodePlugin()
	if diff := cmp.Diff(map[string]string{"node.gardener.cloud/wait-for-csi-node-transplant": "csi.transplant.dev"},
		plugin.Spec.Template.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	registers := plugin.Spec.Template.Spec.Containers[1].Args
	if diff := cmp.Diff([]string{"--kubelet-registration-path=/var/lib/kubelet/plugins/csi.transplant.dev/csi.sock"},
		registers); diff != "" {
		t.Errorf("registration (-want +got):\n%s", diff)
	}
	if csiDriver().Name != "csi.transplant.dev" {
		t.Errorf("the driver is %q", csiDriver().Name)
	}
}
