package nodes

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/transplant-sim/transplant/api/cloud"
)

// driverPod is a ready pod on node-1 that registers a driver; the change may spoil that.
func driverPod(name string, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
			Labels: map[string]string{"node.gardener.cloud/critical-component": "true"}},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{
			{Name: "driver", Args: []string{"--endpoint=unix:///csi.sock"}},
			{Name: "registrar", Args: []string{"--v=5",
				"--kubelet-registration-path=/var/lib/kubelet/plugins/disk.test/csi.sock"}},
		}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	change(pod)
	return pod
}

func TestDriversOf(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"ready": {func(*corev1.Pod) {}, []string{"disk.test"}},
		"by its command": {func(p *corev1.Pod) {
			c := &p.Spec.Containers[1]
			c.Command, c.Args = c.Args, nil
		}, []string{"disk.test"}},
		"not ready":        {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, nil},
		"going":            {func(p *corev1.Pod) { p.DeletionTimestamp = &now }, nil},
		"no driver at all": {func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] }, nil},
	} {
		if diff := cmp.Diff(c.want, driversOf(driverPod("p", c.change))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Drivers are registered where their pods are, beside those that are registered already, and on nodes of ours only.
func TestRegisterDrivers(t *testing.T) {
	t.Parallel()
	elsewhere := driverPod("elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "node-3" })
	uncritical := driverPod("uncritical", func(p *corev1.Pod) { p.Labels, p.Spec.NodeName = nil, "node-2" })
	other := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "other.test", NodeID: "x"}}}}
	client := fake.NewClientset(driverPod("driver", func(*corev1.Pod) {}), elsewhere, uncritical, other)
	s := &shoot{client: client, log: logr.Discard()}
	nodes := map[string]*corev1.Node{}
	var machines []*machine
	for _, name := range []string{"node-1", "node-2"} {
		machines = append(machines, &machine{Machine: cloud.Machine{Meta: cloud.Meta{ID: "m-" + name}, Hostname: name,
			Name: name}, data: &cloud.NodeUserData{}})
		nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	for range 2 { // nothing is added twice
		if err := s.registerDrivers(t.Context(), machines, nodes); err != nil {
			t.Fatal(err)
		}
	}
	list, err := client.StorageV1().CSINodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, one := range list.Items {
		for _, driver := range one.Spec.Drivers {
			got[one.Name] = append(got[one.Name], driver.Name+" "+driver.NodeID)
		}
	}
	if diff := cmp.Diff(map[string][]string{"node-1": {"other.test x", "disk.test m-node-1"}}, got); diff != "" {
		t.Errorf("drivers (-want +got):\n%s", diff)
	}
}
