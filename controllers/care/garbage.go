package care

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stuckAfter is how long after its grace period a pod in deletion is taken for stuck.
const stuckAfter = 5 * time.Minute

// garbage are the pods to delete, and those to delete without grace because they are stuck in deletion
// (docs/specification/care.md#spec-5-1). Outside kube-system a user's pods are only garbage while the shoot is being
// deleted.
func garbage(pods []corev1.Pod, shootInDeletion bool, now time.Time) (remove, force []corev1.Pod) {
	for _, p := range pods {
		switch {
		case p.Namespace != metav1.NamespaceSystem && !shootInDeletion:
		case p.DeletionTimestamp != nil:
			if now.After(p.DeletionTimestamp.Add(stuckAfter)) {
				force = append(force, p)
			}
		case turnedAway(&p):
			remove = append(remove, p)
		}
	}
	return remove, force
}

// turnedAway is whether a kubelet has evicted the pod, or never let it in for want of room.
func turnedAway(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed && (strings.Contains(p.Status.Reason, "Evicted") ||
		strings.HasPrefix(p.Status.Reason, "OutOf"))
}
