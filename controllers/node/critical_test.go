package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	label      = "node.gardener.cloud/critical-component"
	taint      = "node.gardener.cloud/critical-components-not-ready"
	waitCinder = "node.gardener.cloud/wait-for-csi-node-cinder"
)

var isCritical = map[string]string{label: "true"}

func daemonSet(name string) appsv1.DaemonSet {
	d := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name,
		UID: types.UID("uid-" + name), Labels: isCritical}}
	d.Spec.Template.Labels = isCritical
	d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: taint, Operator: "Exists", Effect: "NoSchedule"}}
	return d
}

func podOf(d *appsv1.DaemonSet) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name + "-x", Labels: isCritical,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: d.Name, UID: d.UID,
				Controller: ptr.To(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}},
	}
}

// readyNode is a node on which the network and the CSI driver of cinder run, and all is well.
func readyNode() Observation {
	network, csi := daemonSet("calico-node"), daemonSet("csi-driver-node")
	o := Observation{
		Node:       &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}},
		DaemonSets: []appsv1.DaemonSet{network, csi},
		Pods:       []corev1.Pod{podOf(&network), podOf(&csi)},
		CSINode: &storagev1.CSINode{
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "cinder.csi.openstack.org"}}}},
	}
	o.Pods[1].Annotations = map[string]string{waitCinder: "cinder.csi.openstack.org"}
	o.Node.Spec.Taints = []corev1.Taint{{Key: taint, Effect: "NoSchedule"}}
	return o
}

// TestObstacles: the checks of docs/specification/nodes-and-seeds.md#spec-7-1, and whom they pass over.
func TestObstacles(t *testing.T) {
	t.Parallel()
	const unscheduled, unready, drivers = "UnscheduledNodeCriticalDaemonSets", "UnreadyNodeCriticalPods",
		"UnreadyRequiredCSIDrivers"
	for _, c := range []struct {
		name   string
		change func(*Observation)
		want   []Obstacle
	}{
		{name: "success"},
		{
			name: "check 1: no pod", change: func(o *Observation) { o.Pods = o.Pods[1:] },
			want: []Obstacle{{Reason: unscheduled, Objects: []string{"kube-system/calico-node"}}},
		},
		{
			name: "check 1: a pod of an earlier DaemonSet of that name", change: func(o *Observation) {
				o.Pods[0].OwnerReferences[0].UID = "old"
			},
			want: []Obstacle{{Reason: unscheduled, Objects: []string{"kube-system/calico-node"}}},
		},
		{
			name: "check 1: its pod is on another node", change: func(o *Observation) { o.Pods[0].Spec.NodeName = "m" },
			want: []Obstacle{{Reason: unscheduled, Objects: []string{"kube-system/calico-node"}}},
		},
		{
			name: "check 1: its pod is not labelled", change: func(o *Observation) { o.Pods[0].Labels = nil },
			want: []Obstacle{{Reason: unscheduled, Objects: []string{"kube-system/calico-node"}}},
		},
		{
			name: "check 1: in any namespace", change: func(o *Observation) {
				mine := daemonSet("mine")
				mine.Namespace = "shop"
				o.DaemonSets = append(o.DaemonSets, mine)
			},
			want: []Obstacle{{Reason: unscheduled, Objects: []string{"shop/mine"}}},
		},
		{name: "DaemonSet without the label", change: func(o *Observation) {
			o.Pods, o.DaemonSets[0].Labels = o.Pods[1:], nil
		}},
		{name: "pod template without the label", change: func(o *Observation) {
			o.Pods, o.DaemonSets[0].Spec.Template.Labels = o.Pods[1:], nil
		}},
		{name: "the label has another value", change: func(o *Observation) {
			o.Pods, o.DaemonSets[0].Labels = o.Pods[1:], map[string]string{label: "yes"}
		}},
		{name: "DaemonSet for other nodes: selector", change: func(o *Observation) {
			o.Pods, o.DaemonSets[0].Spec.Template.Spec.NodeSelector = o.Pods[1:], map[string]string{"zone": "b"}
		}},
		{
			name: "DaemonSet for this node: selector", change: func(o *Observation) {
				o.Pods, o.DaemonSets[0].Spec.Template.Spec.NodeSelector = o.Pods[1:], map[string]string{"zone": "a"}
			},
			want: []Obstacle{{Reason: unscheduled, Objects: []string{"kube-system/calico-node"}}},
		},
		{name: "DaemonSet for other nodes: affinity", change: func(o *Observation) {
			o.Pods, o.DaemonSets[0].Spec.Template.Spec.Affinity = o.Pods[1:], notIn("zone", "a")
		}},
		{name: "DaemonSet for other nodes: name", change: func(o *Observation) {
			o.Pods, o.DaemonSets[0].Spec.Template.Spec.NodeName = o.Pods[1:], "m"
		}},
		{name: "DaemonSet without toleration of the taint", change: func(o *Observation) {
			o.Pods, o.DaemonSets[0].Spec.Template.Spec.Tolerations = o.Pods[1:], nil
		}},
		{name: "DaemonSet without toleration of the pool's taint", change: func(o *Observation) {
			o.Pods, o.Node.Spec.Taints = o.Pods[1:], append(o.Node.Spec.Taints, corev1.Taint{Key: "gpu", Effect: "NoSchedule"})
		}},
		{
			name: "a node that is not ready yet is still the DaemonSet's", change: func(o *Observation) {
				o.Pods, o.Node.Spec.Taints = o.Pods[1:],
					append(o.Node.Spec.Taints, corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"})
			},
			want: []Obstacle{{Reason: unscheduled, Objects: []string{"kube-system/calico-node"}}},
		},
		{name: "DaemonSet that goes", change: func(o *Observation) {
			o.Pods, o.DaemonSets[0].DeletionTimestamp = o.Pods[1:], &metav1.Time{}
		}},
		{
			name: "check 2: not ready", change: func(o *Observation) { o.Pods[0].Status.Conditions[0].Status = "False" },
			want: []Obstacle{{Reason: unready, Objects: []string{"kube-system/calico-node-x"}}},
		},
		{
			name: "check 2: nothing said", change: func(o *Observation) { o.Pods[1].Status.Conditions = nil },
			want: []Obstacle{{Reason: unready, Objects: []string{"kube-system/csi-driver-node-x"}}},
		},
		{
			name: "check 2: pods of no DaemonSet, in any namespace", change: func(o *Observation) {
				o.Pods = append(o.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", Labels: isCritical},
					Spec: corev1.PodSpec{NodeName: "n"}})
			},
			want: []Obstacle{{Reason: unready, Objects: []string{"shop/p"}}},
		},
		{name: "pods that are not critical", change: func(o *Observation) {
			o.Pods = append(o.Pods,
				corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{waitCinder: "x"}},
					Spec: corev1.PodSpec{NodeName: "n"}})
		}},
		{
			name: "check 3: no CSINode", change: func(o *Observation) { o.CSINode = nil },
			want: []Obstacle{{Reason: drivers,
				Objects: []string{"cinder.csi.openstack.org (of kube-system/csi-driver-node-x)"}}},
		},
		{
			name: "check 3: another driver", change: func(o *Observation) { o.CSINode.Spec.Drivers[0].Name = "other" },
			want: []Obstacle{{Reason: drivers,
				Objects: []string{"cinder.csi.openstack.org (of kube-system/csi-driver-node-x)"}}},
		},
		{
			name: "check 3: several drivers of one pod", change: func(o *Observation) {
				o.Pods[1].Annotations["node.gardener.cloud/wait-for-csi-node-manila"] = "nfs.manila"
			},
			want: []Obstacle{{Reason: drivers, Objects: []string{"nfs.manila (of kube-system/csi-driver-node-x)"}}},
		},
		{
			name: "all three", change: func(o *Observation) {
				o.Pods, o.CSINode = o.Pods[1:], nil
				o.Pods[0].Status.Conditions = nil
			},
			want: []Obstacle{
				{Reason: unscheduled, Objects: []string{"kube-system/calico-node"}},
				{Reason: unready, Objects: []string{"kube-system/csi-driver-node-x"}},
				{Reason: drivers, Objects: []string{"cinder.csi.openstack.org (of kube-system/csi-driver-node-x)"}},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := readyNode()
			if c.change != nil {
				c.change(&o)
			}
			got := Obstacles(o)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("obstacles (-want +got):\n%s", diff)
			}
			for _, obstacle := range got {
				if text := obstacle.String(); len(text) < 30 {
					t.Errorf("message %q", text)
				}
			}
		})
	}
}

func notIn(key, value string) *corev1.Affinity {
	return &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key,
				Operator: "NotIn", Values: []string{value}}}}},
		}}}
}

func TestTaint(t *testing.T) {
	t.Parallel()
	o := readyNode()
	other := corev1.Taint{Key: "gpu", Effect: "NoSchedule"}
	o.Node.Spec.Taints = append(o.Node.Spec.Taints, other)
	if !Tainted(o.Node) {
		t.Error("the taint is there")
	}
	if diff := cmp.Diff([]corev1.Taint{other}, WithoutTaint(o.Node.Spec.Taints)); diff != "" ||
		len(o.Node.Spec.Taints) != 2 {
		t.Error(diff, o.Node.Spec.Taints)
	}
	o.Node.Spec.Taints = WithoutTaint(o.Node.Spec.Taints)
	if Tainted(o.Node) {
		t.Error("the taint is gone")
	}
}
