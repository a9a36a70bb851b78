// Package nodecritical makes the components for which a new node waits before it takes other pods
// (docs/specification/nodes-and-seeds.md#spec-7-1).
package nodecritical

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// DaemonSet returns a DaemonSet in kube-system with a critical pod on every node. The labels select the pods.
func DaemonSet(name string, labels map[string]string, containers ...corev1.Container) *appsv1.DaemonSet {
	marked := maps.Clone(labels)
	marked[constants.NodeCriticalComponent] = constants.LabelTrue
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, Labels: marked},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: marked},
				Spec: corev1.PodSpec{
					PriorityClassName:            "system-node-critical",
					HostNetwork:                  true,
					AutomountServiceAccountToken: ptr.To(false),
					// The pod of a node that is gone has nobody to end it, and would hold up the deletion of its DaemonSet.
					TerminationGracePeriodSeconds: ptr.To[int64](0),
					Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers:                    containers,
				},
			},
		},
	}
}
