package ready_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/transplant-sim/transplant/clusters/ready"
)

func TestEndpoint(t *testing.T) {
	t.Parallel()
	code := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
	defer server.Close()
	if err := ready.Endpoint(t.Context(), server.Client(), server.URL); err == nil || !strings.HasSuffix(err.Error(),
		"answers 503 Service Unavailable") {
		t.Errorf("an endpoint that is not ready: %v", err)
	}
	code = http.StatusOK
	if err := ready.Endpoint(t.Context(), server.Client(), server.URL); err != nil {
		t.Error(err)
	}
}

func TestNode(t *testing.T) {
	t.Parallel()
	for status, want := range map[corev1.ConditionStatus]string{corev1.ConditionTrue: "",
		corev1.ConditionFalse: `node "n" is not ready`, corev1.ConditionUnknown: `node "n" is not ready`} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: status},
			}}}
		if err := ready.Node(node); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("Ready=%s: %v, want %q", status, err, want)
		}
	}
}

func TestControllers(t *testing.T) {
	t.Parallel()
	if err := ready.Controllers(t.Context(), fake.NewClientset()); err == nil || !strings.HasPrefix(err.Error(),
		"get the default ServiceAccount: ") {
		t.Errorf("without a ServiceAccount: %v", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
	if err := ready.Controllers(t.Context(), fake.NewClientset(account)); err != nil {
		t.Error(err)
	}
}
