package probe_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// On a real API server: nodes and pods are seen to come and go; when it freezes, so that it says nothing and breaks no
// connection, the watches end, and that nobody sees is reported.
func TestWhatIsWatchedOnARealServer(t *testing.T) {
	t.Parallel()
	server := apiservertest.StartServer(t, apiservertest.Options{})
	connect := func(context.Context) (*rest.Config, error) { return rest.CopyConfig(server.Config), nil }
	c, ctx, j := kubernetes.NewForConfigOrDie(server.Config), t.Context(), journal()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: probe.Namespace}},
		metav1.CreateOptions{}))
	must(c.CoreV1().ServiceAccounts(probe.Namespace).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}))
	nodes := &probe.Nodes{Shoot: "alpha", Connect: connect}
	ended := following(t, nodes, j)
	following(t, &probe.Workload{Shoot: "alpha", Connect: connect}, j)

	must(c.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Spec: corev1.NodeSpec{ProviderID: "p"}}, metav1.CreateOptions{}))
	must(c.CoreV1().Pods(probe.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "w"},
		Spec: corev1.PodSpec{NodeName: "n", AutomountServiceAccountToken: ptr.To(false),
			Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{}))
	worldtest.Until(t, sawNode(j, func(n timeline.NodeSeen) bool {
		return n.Name == "n" && n.UID != "" && n.ProviderID == "p"
	}))
	worldtest.Until(t, func() bool {
		_, pod, _ := timeline.First[timeline.PodSeen](j.Events())
		return pod.Name == "w" && pod.Node == "n"
	})
	must(nil, c.CoreV1().Nodes().Delete(ctx, "n", metav1.DeleteOptions{}))
	worldtest.Until(t, sawNode(j, func(n timeline.NodeSeen) bool { return n.Name == "n" && n.Gone }))

	if _, err := server.APIServer.ID().Freeze(); err != nil {
		t.Fatal(err)
	}
	for noticed := time.After(time.Minute); ; {
		select {
		case err := <-ended:
			if err != nil { // the watch has ended before, and was to be begun anew
				return
			}
		case <-noticed:
			t.Fatal("nobody notices that the API server is frozen")
		}
	}
}
