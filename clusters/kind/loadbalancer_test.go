package kind

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Services that ask for a load balancer get the node's address, also when it has changed; no others do, and nothing is
// written where nothing changes.
func TestBalanceAll(t *testing.T) {
	t.Parallel()
	service := func(name string, kind corev1.ServiceType, address string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n"}, Spec: corev1.ServiceSpec{Type: kind}}
		if address != "" {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
		}
		return s
	}
	clients := fake.NewClientset(
		service("new", corev1.ServiceTypeLoadBalancer, ""), service("moved", corev1.ServiceTypeLoadBalancer, "172.18.0.9"),
		service("kept", corev1.ServiceTypeLoadBalancer, "172.18.0.3"), service("inner", corev1.ServiceTypeClusterIP, ""),
	)
	if err := balanceAll(t.Context(), clients, "172.18.0.3"); err != nil {
		t.Fatal(err)
	}
	services, err := clients.CoreV1().Services("n").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]corev1.LoadBalancerIngress{}
	for _, s := range services.Items {
		got[s.Name] = s.Status.LoadBalancer.Ingress
	}
	node := []corev1.LoadBalancerIngress{{IP: "172.18.0.3"}}
	if diff := cmp.Diff(map[string][]corev1.LoadBalancerIngress{"new": node, "moved": node, "kept": node, "inner": nil},
		got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	written := 0
	for _, action := range clients.Actions() {
		if patch, is := action.(clienttesting.PatchAction); is {
			written++
			if patch.GetSubresource() != "status" {
				t.Errorf("%s is patched, not its status", patch.GetName())
			}
		}
	}
	if written != 2 {
		t.Errorf("%d were written, want 2", written)
	}
}

func TestBalanceAll_ListFails_ReturnsTheError(t *testing.T) {
	t.Parallel()
	clients := fake.NewClientset()
	lost := errors.New("the cluster is lost")
	clients.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, lost
	})
	if err := balanceAll(t.Context(), clients, "172.18.0.3"); !errors.Is(err, lost) ||
		err.Error() != "list the services: the cluster is lost" {
		t.Errorf("got %v", err)
	}
}
