package health

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/care/health/healthtest"
)

// TestScaling: the reasons of docs/specification/care.md#spec-5-4 while there are not as many nodes as wanted. The
// pool's minimum is met throughout.
func TestScaling(t *testing.T) {
	t.Parallel()
	wants := func(o *Observation, replicas int32) { o.MachineDeployments.Items[0].Spec.Replicas = replicas }
	more := func(o *Observation, phase machinev1alpha1.MachinePhase) {
		m := healthtest.Machine("c")
		m.Status.CurrentStatus.Phase = phase
		o.Machines.Items = append(o.Machines.Items, m)
	}
	rolls := func(o *Observation) {
		o.MachineDeployments.Items[0].Status.Conditions = []machinev1alpha1.MachineDeploymentCondition{{Type: "Progressing",
			Status: "True", Reason: "ReplicaSetUpdated"}}
	}
	third := func(o *Observation, change func(*corev1.Node)) {
		n := node("c")
		change(&n)
		o.Cluster.Nodes.Items, o.Cluster.NodeAgentLeases.Items = append(o.Cluster.Nodes.Items, n),
			append(o.Cluster.NodeAgentLeases.Items, lease("gardener-node-agent-c"))
	}
	const kind = "EveryNodeReady"
	testChecks(t, []checkCase{
		{name: "NodesScalingUp: no machine yet", change: func(o *Observation) {
			wants(o, 3)
		}, condition: kind, reason: "NodesScalingUp", message: "Not enough machine objects created yet (2/3)"},
		{name: "NodesScalingUp: pending", change: func(o *Observation) {
			wants(o, 3)
			more(o, "Pending")
		}, condition: kind, reason: "NodesScalingUp", message: "1 machine is provisioning and should join the cluster soon"},
		{name: "NodesScalingUp: no phase yet", change: func(o *Observation) {
			wants(o, 4)
			more(o, "")
			more(o, "")
		}, condition: kind, reason: "NodesScalingUp", message: "2 machines are provisioning"},
		{name: "NodesScalingUp: failed", change: func(o *Observation) {
			wants(o, 3)
			more(o, "CrashLoopBackOff")
		}, condition: kind, reason: "NodesScalingUp", message: "1 machine is erroneous"},
		{name: "NodesScalingUp: machine without node", change: func(o *Observation) {
			wants(o, 3)
			more(o, "Running")
		}, condition: kind, reason: "NodesScalingUp",
			message: "Not enough ready worker nodes registered in the cluster (2/3)"},
		{name: "NodesRollOutScalingUp", change: func(o *Observation) {
			wants(o, 3)
			more(o, "Pending")
			rolls(o)
		}, condition: kind, reason: "NodesRollOutScalingUp"},
		{name: "NodesRollOutScalingUp: not while machines fail", change: func(o *Observation) {
			wants(o, 3)
			more(o, "Failed")
			rolls(o)
			o.MachineDeployments.Items[0].Status.FailedMachines = []*machinev1alpha1.MachineSummary{{}}
		}, condition: kind, reason: "NodesScalingUp"},
		{name: "NodesRollOutScalingUp: cordoned", change: func(o *Observation) {
			o.Cluster.Nodes.Items[1].Spec.Unschedulable = true
		}, condition: kind, reason: "NodesRollOutScalingUp"},
		{name: "NodesScalingDown: too many", change: func(o *Observation) {
			third(o, func(*corev1.Node) {})
		}, condition: kind, reason: "NodesScalingDown",
			message: "Too many worker nodes are registered. Exceeding maximum desired machine count (3/2)"},
		{name: "NodesScalingDown: drains", change: func(o *Observation) {
			third(o, func(n *corev1.Node) { n.Spec.Unschedulable = true })
			more(o, "Terminating")
			o.Machines.Items[2].DeletionTimestamp = &metav1.Time{Time: noon}
		}, condition: kind, reason: "NodesScalingDown", message: "1 machine is waiting to be completely drained from pods."},
		{name: "NodesScalingDown: cordoned, but stays", change: func(o *Observation) {
			third(o, func(n *corev1.Node) { n.Spec.Unschedulable = true })
			more(o, "Running")
		}, condition: kind, reason: "NodesScalingDown",
			message: `Cordoned node "c" found but corresponding machine object does not have a deletion timestamp`},
		{name: "NodesScalingDown: cordoned, nobody's", change: func(o *Observation) {
			third(o, func(n *corev1.Node) { n.Spec.Unschedulable = true })
		}, condition: kind, reason: "NodesScalingDown", message: `Machine object for cordoned node "c" not found`},
		{name: "not managed by the machine controller", change: func(o *Observation) {
			third(o, func(n *corev1.Node) { n.Annotations["node.machine.sapcloud.io/not-managed-by-mcm"] = "1" })
		}, condition: kind, status: "True", reason: "EveryNodeReady"},
		{name: "deployments that go want nothing", change: func(o *Observation) {
			gone := o.MachineDeployments.Items[0]
			gone.DeletionTimestamp = &metav1.Time{Time: noon}
			o.MachineDeployments.Items = append(o.MachineDeployments.Items, gone)
		}, condition: kind, status: "True", reason: "EveryNodeReady"},
	})
}
