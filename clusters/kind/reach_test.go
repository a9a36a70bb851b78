package kind

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What leads nowhere is refused, one way is opened once, and none after the end.
func TestReach(t *testing.T) {
	t.Parallel()
	l := &Landscape{}
	l.clusters = []*Cluster{{name: "a", full: "x-a", landscape: l}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"}}
	for cluster, want := range map[string]string{
		"lost": `find the cluster "lost"`,
		"a":    `reach port 6443 of pod n/p of cluster "a": it has no address yet, but ""`,
	} {
		if _, err := l.Reach(t.Context(), cluster, pod, 6443); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("on %s: got %v, want %q", cluster, err, want)
		}
	}
	seen := map[string]bool{}
	for _, address := range []string{"10.244.0.7", "10.244.0.8", "10.244.0.7"} {
		pod.Status.PodIP = address
		at, err := l.Reach(t.Context(), "a", pod, 6443)
		if err != nil {
			t.Fatal(err)
		}
		seen[at] = true
	}
	if len(seen) != 2 {
		t.Errorf("two addresses are reached by %v", seen)
	}
	l.hatches.close()
	if _, err := l.Reach(t.Context(), "a", pod, 6443); err == nil || !strings.HasSuffix(err.Error(),
		"the landscape has stopped") {
		t.Errorf("after the end: %v", err)
	}
}
