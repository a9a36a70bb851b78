package tunnel

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

func pod(name string, phase corev1.PodPhase) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", Labels: ShootLabels()},
		Status: corev1.PodStatus{Phase: phase}}
}

// The answer depends on the pods, and on what the API server says of their logs.
func TestCheck(t *testing.T) {
	t.Parallel()
	gone := pod("gone", corev1.PodRunning)
	now := metav1.Now()
	gone.DeletionTimestamp = &now
	broken := func(text string) func(error) bool {
		return func(err error) bool {
			found, is := errors.AsType[*BrokenError](err)
			return is && strings.Contains(found.Error(), text)
		}
	}
	for name, c := range map[string]struct {
		pods []corev1.Pod
		logs map[string]int // the answers, by pod
		list int            // the answer instead of a list
		want func(error) bool
	}{
		"it carries": {pods: []corev1.Pod{pod("one", corev1.PodRunning)}, logs: map[string]int{"one": 200},
			want: func(err error) bool { return err == nil }},
		"one of two carries": {pods: []corev1.Pod{pod("one", corev1.PodRunning), pod("two", corev1.PodRunning)},
			logs: map[string]int{"one": 500, "two": 200}, want: func(err error) bool { return err == nil }},
		"no pod": {want: func(err error) bool { return errors.Is(err, ErrNotDeployed) }},
		"a pod that does not run": {pods: []corev1.Pod{pod("one", corev1.PodPending)},
			want: broken(`pod "one" does not run`)},
		"a pod that ends": {pods: []corev1.Pod{gone}, want: broken(`pod "gone" does not run`)},
		"it carries nothing": {pods: []corev1.Pod{pod("one", corev1.PodRunning)}, logs: map[string]int{"one": 502},
			want: broken(`read the log of pod "one"`)},
		"an API server that is not well": {list: 503, want: func(err error) bool {
			_, is := errors.AsType[*BrokenError](err)
			return err != nil && !is && !errors.Is(err, ErrNotDeployed)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/kube-system/pods"), "/")
				if len(path) == 3 && path[2] == "log" {
					w.WriteHeader(c.logs[path[1]])
					return
				}
				if c.list != 0 || r.URL.Query().Get("labelSelector") != "app=vpn-shoot" {
					w.WriteHeader(c.list)
					return
				}
				content, err := runtime.Encode(clientgoscheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion),
					&corev1.PodList{Items: c.pods})
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(content) // a failed write fails the request, too
			}))
			t.Cleanup(server.Close)
			shoot, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if err := Check(t.Context(), shoot); !c.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}
