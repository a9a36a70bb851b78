package machine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// TestScale: machines come and go with the replicas, and the status says so.
func TestScale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.deployment(3)
	b.settle()
	b.expect("created", 3, 3, 3, 0)
	b.must(b.control.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	s := d.Status
	if s.Replicas != 3 || s.AvailableReplicas != 3 || s.UpdatedReplicas != 3 || s.ObservedGeneration != d.Generation ||
		s.UnavailableReplicas != 0 {
		t.Errorf("status %+v", s)
	}
	for _, m := range b.all() {
		if m.Spec.ProviderID == "" || m.Labels["node"] != m.Name || m.Status.CurrentStatus.Phase != "Running" {
			t.Errorf("machine %s: %s, node %q, %s", m.Name, m.Spec.ProviderID, m.Labels["node"], m.Status.CurrentStatus.Phase)
		}
	}
	vm := b.cloud.vms[0]
	if vm.UserData != nodeFile || vm.Tags[tagMachine] != vm.Name || vm.Tags[tagClass] != "class-1" ||
		!strings.HasPrefix(vm.Tags[tagSet], "pool-z1-") {
		t.Errorf("the machine of the cloud is %+v", vm)
	}
	b.change(d, func() { d.Spec.Replicas = 1 })
	b.settle()
	b.expect("scaled down", 1, 1, 3, 2)
	b.must(b.control.Delete(t.Context(), d))
	b.settle()
	b.expect("deleted", 0, 0, 3, 3)
	nodes := &corev1.NodeList{}
	b.must(b.target.List(t.Context(), nodes))
	if len(nodes.Items) > 0 || b.exists(d) {
		t.Errorf("left: %d nodes, deployment %t", len(nodes.Items), b.exists(d))
	}
}

func (b *bench) exists(o client.Object) bool {
	return b.control.Get(b.t.Context(), client.ObjectKeyFromObject(o), o) == nil
}

// TestLostAnswer: a creation whose answer is lost makes no second machine, also across a restart.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cloud.lose = true
	b.deployment(2)
	for range 3 {
		b.step()
		b.clock.Step(time.Second)
	}
	b.restart()
	b.cloud.lose = false
	b.settle()
	b.expect("after lost answers", 2, 2, 2, 0)
}

// restored puts the machine objects of one bench into a new one, as a Worker extension does: without status, without
// owners.
func restored(b *bench) *bench {
	b.t.Helper()
	n := newBench(b.t)
	n.cloud, n.target = b.cloud, b.target
	n.restart()
	sets := &machinev1alpha1.MachineSetList{}
	b.must(b.control.List(b.t.Context(), sets))
	for _, s := range sets.Items {
		n.must(n.control.Create(b.t.Context(), &machinev1alpha1.MachineSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.Labels}, Spec: s.Spec,
		}))
	}
	for _, m := range b.all() {
		n.must(n.control.Create(b.t.Context(), &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, Annotations: m.Annotations},
			Spec:       m.Spec,
		}))
	}
	return n
}

// TestRestoredMachinesAreTaken: what was restored is taken as it is: nothing is created or deleted, the names stay.
func TestRestoredMachinesAreTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment(3)
	b.settle()
	before := names(b)
	n := restored(b)
	n.deployment(3)
	n.settle(func() { n.expect("restored", 3, 3, 3, 0) })
	if diff := cmp.Diff(before, names(n)); diff != "" {
		t.Error(diff)
	}
	if n.running() != 3 {
		t.Errorf("%d machines run", n.running())
	}
}

func names(b *bench) []string {
	var found []string
	for _, m := range b.all() {
		found = append(found, m.Name+" "+m.Spec.ProviderID)
	}
	slices.Sort(found)
	return found
}

// TestRestoredWithoutID: a Machine that was saved before it knew the id of its machine finds it by its name.
func TestRestoredWithoutID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment(1)
	b.settle()
	m := b.all()[0]
	before := m.DeepCopy()
	m.Spec.ProviderID = ""
	b.must(b.control.Patch(t.Context(), &m, client.MergeFrom(before)))
	n := restored(b)
	n.deployment(1)
	n.settle()
	n.expect("restored without an id", 1, 1, 1, 0)
	if got := n.all()[0].Spec.ProviderID; got != before.Spec.ProviderID {
		t.Errorf("it is bound to %q, was to %q", got, before.Spec.ProviderID)
	}
}

// TestDeletedBeforeBound: a Machine that goes before it has learnt the id of its machine takes the machine with it.
func TestDeletedBeforeBound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cloud.lose = true
	d := b.deployment(1)
	b.step()
	b.change(d, func() { d.Spec.Replicas = 0 })
	b.cloud.lose = false
	b.settle()
	b.expect("deleted before bound", 0, 0, 1, 1)
}

// TestQuarantineIsNoVictim: a set that shrinks does not choose a machine in quarantine.
func TestQuarantineIsNoVictim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.deployment(2)
	b.settle()
	n := restored(b)
	b.change(d, func() { d.Spec.Replicas = 3 })
	b.settle()
	other := n.deployment(3)
	n.settle()
	n.expect("adopted", 3, 3, 3, 0)
	n.change(other, func() { other.Spec.Replicas = 0 })
	n.settle()
	n.expect("shrunk", 1, 1, 3, 2)
	if left := n.all()[0]; left.Annotations[annotationQuarantine] == "" {
		t.Errorf("%s is left, which was not in quarantine", left.Name)
	}
}

// TestShootAway: while the shoot's API server is away, and while its nodes are silent for less than the timeout,
// nothing is replaced.
func TestShootAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment(2)
	b.settle()
	b.down = true
	b.settle()
	b.clock.Step(time.Hour)
	b.settle()
	b.expect("the API server is away", 2, 2, 2, 0)
	b.down = false
	b.ready(corev1.ConditionUnknown)
	b.settle()
	b.expect("nodes are silent", 2, 2, 2, 0)
	if b.running() != 0 || b.all()[0].Status.CurrentStatus.Phase != "Unknown" {
		t.Errorf("phase %s", b.all()[0].Status.CurrentStatus.Phase)
	}
	b.ready(corev1.ConditionTrue)
	b.settle()
	if b.running() != 2 {
		t.Errorf("%d machines run", b.running())
	}
}

func (b *bench) ready(status corev1.ConditionStatus) {
	b.t.Helper()
	b.setReady(status, func(string) bool { return true })
}

// TestUnhealthyIsReplaced: after the health timeout machines are replaced.
func TestUnhealthyIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment(1)
	b.settle()
	b.ready(corev1.ConditionFalse)
	b.step()
	b.clock.Step(DefaultTimeouts.Health + time.Second)
	b.settle()
	b.expect("replaced", 1, 1, 2, 1)
}

// TestGoneIsReplaced: a machine that is gone from the cloud is replaced; its restored Machine is not waited for.
func TestGoneIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment(2)
	b.settle()
	victim := b.cloud.vms[0]
	b.must(b.cloud.Delete(t.Context(), victim.ID))
	b.must(b.target.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: victim.Hostname}}))
	n := restored(b)
	n.deployment(2)
	n.settle()
	n.expect("replaced", 2, 2, 3, 1)
}

// TestOrphanIsAdopted: a machine that the restored state does not know is adopted, is no gap filled twice, and is not
// deleted within the quarantine, although it is one too many (docs/ownership.md#spec-9-2-machines).
func TestOrphanIsAdopted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		sweep   bool // the sweep finds it, not the set that misses a machine
		wanted  int32
		after   int // Machines while in quarantine
		deleted int // and after it
	}{{"missing", false, 3, 3, 0}, {"one too many", true, 2, 3, 1}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			d := b.deployment(2)
			b.settle()
			n := restored(b)
			b.change(d, func() { d.Spec.Replicas = 3 })
			b.settle()
			n.deployment(test.wanted)
			if test.sweep {
				n.settle()
				n.must(n.orphans.Sweep(t.Context()))
			}
			n.settle()
			n.must(n.orphans.Sweep(t.Context()))
			n.expect("adopted", test.after, 3, 3, 0)
			if !slices.Contains(n.events.reasons, "OrphanAdopted") {
				t.Errorf("events %v", n.events.reasons)
			}
			n.clock.Step(2 * time.Hour)
			n.settle()
			n.expect("after the quarantine", 3-test.deleted, 3-test.deleted, 3, test.deleted)
		})
	}
}

// TestOrphanWithoutSet: a machine that fits no set is kept for the quarantine, and both its finding and its end are
// events.
func TestOrphanWithoutSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.cloud.Create(t.Context(),
		&cloud.Machine{Name: "lost", Tags: map[string]string{tagMachine: "lost", tagClass: "class-9"}}, "t")
	b.must(err)
	bastion, err := b.cloud.Create(t.Context(), &cloud.Machine{Name: "bastion"}, "u")
	b.must(err)
	for range 3 {
		b.must(b.orphans.Sweep(t.Context()))
		b.clock.Step(time.Minute)
	}
	if len(b.cloud.ids()) != 2 || !slices.Equal(b.events.reasons, []string{"OrphanQuarantined"}) {
		t.Errorf("machines %v, events %v", b.cloud.ids(), b.events.reasons)
	}
	b.clock.Step(time.Hour)
	b.must(b.orphans.Sweep(t.Context()))
	b.until(func() bool { return len(b.all()) == 0 })
	if !slices.Equal(b.cloud.ids(), []string{bastion.ID}) || !slices.Equal(b.events.reasons,
		[]string{"OrphanQuarantined", "OrphanDeleted"}) {
		t.Errorf("machines %v, events %v", b.cloud.ids(), b.events.reasons)
	}
}

// TestRollingUpdate: a change of class replaces every machine, within the bounds at every moment; a change of anything
// else replaces none.
func TestRollingUpdate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.deployment(3)
	b.settle()
	b.change(d, func() {
		d.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{"a": "b"}
		d.Spec.Template.Spec.NodeTemplateSpec.Spec.Taints = []corev1.Taint{{Key: "k", Effect: "NoSchedule"}}
	})
	b.settle()
	b.expect("labels changed", 3, 3, 3, 0)
	b.change(d, func() { d.Spec.Template.Spec.Class.Name = "class-2" })
	b.settle(func() {
		if vms, running := len(b.cloud.ids()), b.running(); vms > 4 || running < 3 {
			t.Errorf("in the update there are %d machines, %d run", vms, running)
		}
	})
	b.settle()
	b.expect("class changed", 3, 3, 6, 3)
	sets := &machinev1alpha1.MachineSetList{}
	b.must(b.control.List(t.Context(), sets))
	if len(sets.Items) != 1 {
		t.Errorf("%d sets are left", len(sets.Items))
	}
}

// TestUpdateGoesOnElsewhere: a rolling update that was under way when the shoot moved goes on: no machine is lost, none
// doubled.
func TestUpdateGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	for steps := range 14 {
		b := newBench(t)
		d := b.deployment(3)
		b.settle()
		b.change(d, func() { d.Spec.Template.Spec.Class.Name = "class-2" })
		for range steps {
			b.step()
			b.boot()
		}
		n := restored(b)
		n.deployment(3, func(d *machinev1alpha1.MachineDeployment) { d.Spec.Template.Spec.Class.Name = "class-2" })
		n.settle(func() {
			if vms := len(n.cloud.ids()); vms > 4 || vms < 3 {
				t.Errorf("moved after %d steps: %d machines", steps, vms)
			}
		})
		n.settle()
		n.expect("moved in the update", 3, 3, 6, 3)
	}
}

// TestNodeTemplate: labels and taints reach the node, are taken off again, and those of others stay.
func TestNodeTemplate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.deployment(1)
	b.settle()
	node := &corev1.Node{}
	key := client.ObjectKey{Name: b.all()[0].Labels["node"]}
	b.must(b.target.Get(t.Context(), key, node))
	before := node.DeepCopy()
	node.Spec.Taints = []corev1.Taint{{Key: "others", Effect: "NoSchedule"}}
	b.must(b.target.Patch(t.Context(), node, client.MergeFrom(before)))
	set := func(labels map[string]string, taints ...corev1.Taint) {
		b.change(d, func() {
			d.Spec.Template.Spec.NodeTemplateSpec.Labels = labels
			d.Spec.Template.Spec.NodeTemplateSpec.Spec.Taints = taints
		})
		b.settle()
		b.must(b.target.Get(t.Context(), key, node))
	}
	set(map[string]string{"a": "1", "b": "2"}, corev1.Taint{Key: "ours", Effect: "NoExecute"})
	if node.Labels["a"] != "1" || len(node.Spec.Taints) != 2 {
		t.Errorf("labels %v, taints %v", node.Labels, node.Spec.Taints)
	}
	set(map[string]string{"b": "3"})
	if _, there := node.Labels["a"]; there || node.Labels["b"] != "3" || len(node.Spec.Taints) != 1 ||
		node.Spec.Taints[0].Key != "others" {
		t.Errorf("labels %v, taints %v", node.Labels, node.Spec.Taints)
	}
}

// TestDrain: pods are evicted before the machine goes; what refuses keeps it until the drain timeout.
func TestDrain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.deployment(1)
	b.settle()
	m := b.all()[0]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Finalizers: []string{"test/hold"}},
		Spec: corev1.PodSpec{NodeName: m.Name}}
	daemon := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d",
			OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "x", UID: "x", APIVersion: "apps/v1",
				Controller: new(bool)}}},
		Spec: corev1.PodSpec{NodeName: m.Name},
	}
	*daemon.OwnerReferences[0].Controller = true
	b.must(b.target.Create(t.Context(), pod))
	b.must(b.target.Create(t.Context(), daemon))
	b.change(d, func() { d.Spec.Replicas = 0 })
	b.settle()
	b.expect("a pod holds on", 1, 1, 1, 0)
	b.must(b.target.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	node := &corev1.Node{}
	b.must(b.target.Get(t.Context(), client.ObjectKey{Name: m.Name}, node))
	if pod.DeletionTimestamp == nil || !node.Spec.Unschedulable {
		t.Errorf("the pod was not evicted (%v), or the node not cordoned (%t)", pod.DeletionTimestamp,
			node.Spec.Unschedulable)
	}
	b.clock.Step(DefaultTimeouts.Drain)
	b.settle()
	b.expect("after the drain timeout", 0, 0, 1, 1)
}

// TestGoneNeedsNoDrain: another seed has ended the machine and was lost before it reported that; the pods that its node
// had will never end, and hold nothing up.
func TestGoneNeedsNoDrain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.deployment(1)
	b.settle()
	m := b.all()[0]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Finalizers: []string{"test/hold"}},
		Spec: corev1.PodSpec{NodeName: m.Name}}
	b.must(b.target.Create(t.Context(), pod))
	b.change(d, func() { d.Spec.Replicas = 0 })
	b.must(b.cloud.Delete(t.Context(), b.cloud.vms[0].ID))
	b.settle()
	b.expect("gone before", 0, 0, 1, 1)
	if nodes := b.nodes(); len(nodes) != 0 {
		t.Errorf("its node is left: %s", nodes[0].Name)
	}
}

// TestLapsedOwnership: without validity nothing is created, nothing fails, and it goes on when validity is back.
func TestLapsedOwnership(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cloud.refuse = validity.ErrLapsed
	d := b.deployment(1)
	b.settle()
	b.clock.Step(time.Hour)
	b.settle()
	b.expect("without ownership", 1, 0, 0, 0)
	if phase := b.all()[0].Status.CurrentStatus.Phase; phase != "" {
		t.Errorf("the phase is %s", phase)
	}
	b.cloud.refuse = nil
	b.settle()
	b.expect("with it", 1, 1, 1, 0)
	b.cloud.lapsed = validity.ErrLapsed
	b.change(d, func() { d.Spec.Replicas = 3 })
	_, err := b.cloud.Create(t.Context(),
		&cloud.Machine{Name: "orphan", Tags: map[string]string{tagMachine: "orphan", tagClass: "class-1"}}, "t")
	b.must(err)
	b.must(b.orphans.Sweep(t.Context()))
	b.settle()
	b.expect("no plans without it", 1, 2, 2, 0)
}

// TestCreationFails: the error is shown, and after the creation timeout the Machine is given up and replaced.
func TestCreationFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cloud.refuse = &cloud.Error{Code: cloud.CodeDepleted, Reason: "InsufficientInstanceCapacity", Message: "none left"}
	d := b.deployment(1)
	failed := func() []*machinev1alpha1.MachineSummary {
		b.must(b.control.Get(t.Context(), client.ObjectKeyFromObject(d), d))
		return d.Status.FailedMachines
	}
	b.settle()
	m := b.all()[0]
	if m.Status.CurrentStatus.Phase != "CrashLoopBackOff" || !strings.Contains(m.Status.LastOperation.Description,
		"none left") {
		t.Errorf("status %+v", m.Status)
	}
	want := []*machinev1alpha1.MachineSummary{{Name: m.Name, LastOperation: m.Status.LastOperation,
		OwnerRef: metav1.GetControllerOf(&m).Name}}
	if diff := cmp.Diff(want, failed()); diff != "" || want[0].LastOperation.ErrorCode != string(cloud.CodeDepleted) {
		t.Errorf("the failed machines of the deployment (-want +got): %s; the code is %q", diff,
			want[0].LastOperation.ErrorCode)
	}
	b.cloud.refuse = nil
	b.settle()
	b.expect("capacity is back", 1, 1, 1, 0)
	if left := failed(); len(left) > 0 {
		t.Errorf("capacity is back, and these have failed: %+v", left)
	}
}
