package kind

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Whoever may write records of DNS still does not reach what listens on the loopback of this machine.
func TestPastLoopback_RecordOfLoopback_IsRefused(t *testing.T) {
	t.Parallel()
	unknown := errors.New("no such host")
	for address, want := range map[string]string{
		"172.18.0.3": "", "127.0.0.1": "no link leads there", "127.8.8.8": "no link leads there",
		"::ffff:127.0.0.1": "no link leads there", "0.0.0.0": "no link leads there", "::": "no link leads there",
		"nonsense": `read the address of "api.test"`, "": unknown.Error(),
	} {
		resolve := pastLoopback(func(context.Context, string) (string, time.Duration, error) {
			if address == "" {
				return "", 0, unknown
			}
			return address, time.Minute, nil
		})
		at, ttl, err := resolve(t.Context(), "api.test")
		switch {
		case want == "" && (at != address || ttl != time.Minute || err != nil):
			t.Errorf("%s: %q for %s, %v", address, at, ttl, err)
		case want != "" && (at != "" || err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %q, %v; want an error with %q", address, at, err, want)
		}
	}
}

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
	l.hatches.Close()
	if _, err := l.Reach(t.Context(), "a", pod, 6443); err == nil || !strings.HasSuffix(err.Error(),
		"the landscape has stopped") {
		t.Errorf("after the end: %v", err)
	}
}
