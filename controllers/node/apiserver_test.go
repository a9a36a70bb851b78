package node

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// patience bounds every wait; the machine may be busy.
const patience = time.Minute

// TestOnARealAPIServer makes one thing after the other ready that a node waits for.
func TestOnARealAPIServer(t *testing.T) {
	log.SetLogger(logr.Discard())
	config := apiservertest.Start(t, apiservertest.Options{Flags: []string{"--disable-admission-plugins=ServiceAccount"}})
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	must(t, err)
	mgr, err := manager.New(config, manager.Options{Scheme: clientgoscheme.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Logger: logr.Discard()})
	must(t, err)
	must(t, (&Reconciler{Backoff: 100 * time.Millisecond}).AddToManager(mgr, config))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run the manager: %v", err)
		}
	})

	labels := map[string]string{"node.gardener.cloud/critical-component": "true", "app": "csi"}
	pod := corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Containers: []corev1.Container{{Name: "c", Image: "i"}}}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "csi", Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		}}
	must(t, c.Create(t.Context(), set))
	other := corev1.Taint{Key: "user", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Spec.Taints = []corev1.Taint{{Key: "node.gardener.cloud/critical-components-not-ready",
		Effect: corev1.TaintEffectNoSchedule}, other}
	must(t, c.Create(t.Context(), node))

	awaitEvent(t, c, "UnscheduledNodeCriticalDaemonSets")
	pod.NodeName = "node"
	scheduled := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "csi-1", Labels: labels,
		Annotations: map[string]string{"node.gardener.cloud/wait-for-csi-node-disk": "disk.test"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name, UID: set.UID,
			Controller: ptr.To(true)}},
	}, Spec: pod}
	must(t, c.Create(t.Context(), scheduled))
	awaitEvent(t, c, "UnreadyNodeCriticalPods")
	scheduled.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must(t, c.Status().Update(t.Context(), scheduled))
	drivers := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "node"},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "other.test", NodeID: "n"}}}}
	must(t, c.Create(t.Context(), drivers))
	awaitEvent(t, c, "UnreadyRequiredCSIDrivers")
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(node), node))
	if !Tainted(node) {
		t.Fatal("the taint has gone although a driver is missing")
	}

	drivers.Spec.Drivers = append(drivers.Spec.Drivers, storagev1.CSINodeDriver{Name: "disk.test", NodeID: "n"})
	must(t, c.Update(t.Context(), drivers))
	awaitEvent(t, c, "NodeCriticalComponentsReady")
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(node), node))
	// the API server's
	kept := slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeNotReady
	})
	if diff := cmp.Diff([]corev1.Taint{other}, kept); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}

// awaitEvent waits for an event on the node.
func awaitEvent(t *testing.T, c client.Client, reason string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			list := &eventsv1.EventList{}
			if err := c.List(ctx, list); err != nil {
				return false, err
			}
			return slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
				return e.Regarding.Name == "node" && e.Reason == reason
			}), nil
		})
	if err != nil {
		t.Fatalf("wait for the event %s: %v", reason, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
