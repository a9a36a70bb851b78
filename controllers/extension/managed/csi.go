package managed

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
	"github.com/transplant-sim/transplant/controllers/nodecritical"
)

// csiNodeName is the name of the part of the CSI driver that runs on the nodes. Its controllers are in the control
// plane.
const csiNodeName = "csi-driver-node"

// csiDriver says how the cluster uses the driver: volumes are attached to nodes before pods may have them.
func csiDriver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"},
		ObjectMeta: metav1.ObjectMeta{Name: cloud.CSIDriver},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: ptr.To(true), PodInfoOnMount: ptr.To(false)},
	}
}

// csiNodePlugin registers the driver with the kubelets. New nodes wait for it, and for the driver to be registered,
// before they take other pods (docs/specification/nodes-and-seeds.md#spec-7-1): a pod with a volume would be placed in
// vain.
func csiNodePlugin() *appsv1.DaemonSet {
	plugin := nodecritical.DaemonSet(csiNodeName, map[string]string{"app": csiNodeName},
		corev1.Container{Name: "driver", Image: "transplant.dev/csi-driver:dev"},
		corev1.Container{Name: "node-driver-registrar", Image: "transplant.dev/csi-driver:dev", Args: []string{
			"--kubelet-registration-path=/var/lib/kubelet/plugins/" + cloud.CSIDriver + "/csi.sock",
		}},
	)
	plugin.Spec.Template.Annotations = map[string]string{
		constants.NodeWaitForCSINodePrefix + reference.Type: cloud.CSIDriver,
	}
	return plugin
}
