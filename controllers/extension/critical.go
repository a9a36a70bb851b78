package extension

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// nodeCritical is a DaemonSet that has a pod on every node, and for which new nodes wait before they take other pods (SPEC
// 7.1).
func nodeCritical(name string, containers ...corev1.Container) *appsv1.DaemonSet {
	matched := map[string]string{"app": name}
	labels := with(map[string]string{constants.NodeCriticalComponent: constants.LabelTrue}, "app", name)
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: matched},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					PriorityClassName:            "system-node-critical",
					HostNetwork:                  true,
					AutomountServiceAccountToken: ptr.To(false),
					// It has nothing to end, and nobody ends it where its node has gone: whoever deletes the DaemonSet would wait.
					TerminationGracePeriodSeconds: ptr.To[int64](0),
					Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers:                    containers,
				},
			},
		},
	}
}
