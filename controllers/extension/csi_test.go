package extension

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNodesWaitForTheDriver: the form by which nodes know what to wait for (SPEC 7.1), and in which kubelets register it.
func TestNodesWaitForTheDriver(t *testing.T) {
	t.Parallel()
	plugin := csiNodePlugin()
	labels := map[string]string{"app": "csi-driver-node", "node.gardener.cloud/critical-component": "true"}
	if diff := cmp.Diff(labels, plugin.Labels) + cmp.Diff(labels, plugin.Spec.Template.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"node.gardener.cloud/wait-for-csi-node-transplant": "csi.transplant.dev"}, plugin.Spec.Template.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	registers := plugin.Spec.Template.Spec.Containers[1].Args
	if diff := cmp.Diff([]string{"--kubelet-registration-path=/var/lib/kubelet/plugins/csi.transplant.dev/csi.sock"}, registers); diff != "" {
		t.Errorf("registration (-want +got):\n%s", diff)
	}
	if len(plugin.Spec.Template.Spec.Tolerations) != 1 || plugin.Spec.Template.Spec.Tolerations[0].Operator != "Exists" {
		t.Errorf("tolerations %v: it must come to nodes that wait", plugin.Spec.Template.Spec.Tolerations)
	}
	if grace := plugin.Spec.Template.Spec.TerminationGracePeriodSeconds; grace == nil || *grace != 0 {
		t.Errorf("pods on nodes that have gone would keep the DaemonSet for a grace period of %v", grace)
	}
	if plugin.Namespace != "kube-system" || csiDriver().Name != "csi.transplant.dev" {
		t.Errorf("the driver %q is in %q", csiDriver().Name, plugin.Namespace)
	}
}
