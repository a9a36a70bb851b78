package care

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/controllers/care/health/healthtest"
)

func TestGarbage(t *testing.T) {
	t.Parallel()
	pod := func(namespace, name, reason string, deleted time.Duration) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Status: corev1.PodStatus{Phase: "Failed", Reason: reason}}
		if deleted > 0 {
			p.DeletionTimestamp = &metav1.Time{Time: healthtest.Noon.Add(-deleted)}
		}
		return p
	}
	pods := []corev1.Pod{
		pod("kube-system", "evicted", "Evicted", 0), pod("kube-system", "no-room", "OutOfcpu", 0),
		pod("kube-system", "failed", "Error", 0),
		pod("kube-system", "going", "Evicted", 5*time.Minute), pod("kube-system", "stuck", "", 5*time.Minute+time.Second),
		pod("shop", "evicted", "Evicted", 0), pod("shop", "stuck", "", time.Hour),
	}
	running := pod("kube-system", "running", "Evicted", 0)
	running.Status.Phase = "Running"
	for inDeletion, want := range map[bool][2][]string{
		false: {{"kube-system/evicted", "kube-system/no-room"}, {"kube-system/stuck"}},
		true:  {{"kube-system/evicted", "kube-system/no-room", "shop/evicted"}, {"kube-system/stuck", "shop/stuck"}},
	} {
		remove, force := garbage(append(pods, running), inDeletion, healthtest.Noon)
		if diff := cmp.Diff(want, [2][]string{names(remove), names(force)}); diff != "" {
			t.Errorf("shoot in deletion: %t (-want +got):\n%s", inDeletion, diff)
		}
	}
}

func names(pods []corev1.Pod) []string {
	var names []string
	for _, p := range pods {
		names = append(names, p.Namespace+"/"+p.Name)
	}
	return names
}
