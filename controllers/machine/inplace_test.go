package machine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// inPlaceStrategy of a deployment.
func inPlaceStrategy(orchestration machinev1alpha1.OrchestrationType, surge,
	unavailable int32) func(*machinev1alpha1.MachineDeployment) {
	return func(d *machinev1alpha1.MachineDeployment) {
		d.Spec.Strategy = machinev1alpha1.MachineDeploymentStrategy{
			Type: "InPlaceUpdate",
			InPlaceUpdate: &machinev1alpha1.InPlaceUpdateMachineDeployment{
				OrchestrationType: orchestration, UpdateConfiguration: machinev1alpha1.UpdateConfiguration{
					MaxSurge: ptr.To(intstr.FromInt32(surge)), MaxUnavailable: ptr.To(intstr.FromInt32(unavailable)),
				},
			},
		}
	}
}

func (b *bench) nodes() []corev1.Node {
	b.t.Helper()
	list := &corev1.NodeList{}
	b.must(b.target.List(b.t.Context(), list))
	return list.Items
}

func (b *bench) labelNode(name, label, value string) {
	b.t.Helper()
	node := &corev1.Node{}
	b.must(b.target.Get(b.t.Context(), client.ObjectKey{Name: name}, node))
	before := node.DeepCopy()
	metav1.SetMetaDataLabel(&node.ObjectMeta, label, value)
	b.must(b.target.Patch(b.t.Context(), node, client.MergeFrom(before)))
}

// agents update the nodes that are ready for it.
func (b *bench) agents() {
	b.t.Helper()
	for _, node := range b.nodes() {
		if _, ready := readySince(&node); ready && node.Labels["node.machine.sapcloud.io/update-result"] == "" {
			b.labelNode(node.Name, "node.machine.sapcloud.io/update-result", "successful")
		}
	}
}

// updated says whether no machine is of an older class or under way.
func (b *bench) updated() bool {
	b.t.Helper()
	sets := &machinev1alpha1.MachineSetList{}
	b.must(b.control.List(b.t.Context(), sets))
	return len(sets.Items) == 1 && sets.Items[0].Spec.Template.Spec.Class.Name == "class-2" && b.running() == len(b.all())
}

// expectUpdated: every machine is of the new class, and its node like any other.
func (b *bench) expectUpdated() {
	b.t.Helper()
	for _, m := range b.all() {
		if m.Spec.Class.Name != "class-2" || m.Status.CurrentStatus.Phase != "Running" {
			b.t.Errorf("machine %s is of %s, %s", m.Name, m.Spec.Class.Name, m.Status.CurrentStatus.Phase)
		}
	}
	for _, node := range b.nodes() {
		_, ready := readySince(&node)
		if ready || node.Spec.Unschedulable || len(node.Labels) > 0 {
			b.t.Errorf("node %s: labels %v, unschedulable %t, ready for an update %t", node.Name, node.Labels,
				node.Spec.Unschedulable, ready)
		}
	}
	sets := &machinev1alpha1.MachineSetList{}
	b.must(b.control.List(b.t.Context(), sets))
	if len(sets.Items) != 1 || sets.Items[0].Annotations[annotationMoving] != "" {
		b.t.Errorf("sets %v", sets.Items)
	}
}

func nextClass(d *machinev1alpha1.MachineDeployment) func() {
	return func() { d.Spec.Template.Spec.Class.Name = "class-2" }
}

// TestAutoInPlace: the machines are updated one after the other, and are the same machines.
func TestAutoInPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		surge, unavailable int32
		least              int // machines that run
		created, deleted   int
	}{
		{"one less", 0, 1, 2, 3, 0},
		{"two less", 0, 2, 1, 3, 0},
		{"one more: so many are replaced", 1, 0, 3, 4, 1},
		{"neither means one less", 0, 0, 2, 3, 0},
		{"all in exchange", 3, 0, 3, 6, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			d := b.deployment(3, inPlaceStrategy("Auto", c.surge, c.unavailable))
			b.settle()
			b.change(d, nextClass(d))
			b.settle(b.agents, func() {
				if n := b.running(); n < c.least {
					t.Errorf("%d machines run, at least %d shall", n, c.least)
				}
				// Nobody has looked at the machines since the last look at the deployment.
				_, err := b.deployments.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(d)})
				b.must(err)
			})
			b.expect("updated", 3, 3, c.created, c.deleted)
			b.expectUpdated()
			b.must(b.control.Get(t.Context(), client.ObjectKeyFromObject(d), d))
			if s := d.Status; s.UpdatedReplicas != 3 || s.Replicas != 3 || s.AvailableReplicas != 3 {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// TestManualInPlace: nothing happens but to those that users select.
func TestManualInPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.deployment(3, inPlaceStrategy("Manual", 1, 0))
	b.settle()
	b.change(d, nextClass(d))
	updated := func() (n int32) {
		b.must(b.control.Get(t.Context(), client.ObjectKeyFromObject(d), d))
		return d.Status.UpdatedReplicas
	}
	b.settle(b.agents)
	var candidates []string
	for _, node := range b.nodes() {
		if node.Labels["node.machine.sapcloud.io/candidate-for-update"] == "true" && !node.Spec.Unschedulable {
			candidates = append(candidates, node.Name)
		}
	}
	if len(candidates) != 3 || updated() != 0 {
		t.Fatalf("candidates %v, %d updated", candidates, updated())
	}
	for i, name := range candidates {
		b.labelNode(name, "node.machine.sapcloud.io/selected-for-update", "true")
		b.settle(b.agents)
		if got := updated(); got != int32(i+1) {
			t.Errorf("%d machines are updated, %d were selected", got, i+1)
		}
	}
	b.expect("updated", 3, 3, 3, 0)
	b.expectUpdated()
}

// A pool whose users select is made smaller although its update has not been begun, or not been finished: old machines
// go first.
func TestManualInPlace_ScaledDownMeanwhile_LosesOldMachines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		updated, replicas int
		want              map[string]int
	}{
		"none is updated": {0, 2, map[string]int{"class-1": 2}},
		"one is updated":  {1, 2, map[string]int{"class-1": 1, "class-2": 1}},
		"to zero":         {1, 0, map[string]int{}},
		"two, to one":     {2, 1, map[string]int{"class-2": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			d := b.deployment(3, inPlaceStrategy("Manual", 0, 0))
			b.settle()
			b.change(d, nextClass(d))
			b.settle()
			for i, node := range b.nodes() {
				if i < test.updated {
					b.labelNode(node.Name, "node.machine.sapcloud.io/selected-for-update", "true")
				}
			}
			b.settle(b.agents)
			b.change(d, func() { d.Spec.Replicas = int32(test.replicas) })
			b.settle()
			got := map[string]int{}
			for _, m := range b.all() {
				got[m.Spec.Class.Name]++
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("machines of each class (-want +got):\n%s", diff)
			}
		})
	}
}

// shootAway is a shoot whose API server answers to nobody.
type shootAway struct{ client.Client }

func (shootAway) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errAway
}

func (shootAway) List(context.Context, client.ObjectList, ...client.ListOption) error { return errAway }

var errAway = errors.New("connection refused")

// A pool that is to have no machines, as when the shoot goes to sleep, has nothing to update: it does not wait for the
// shoot's API server, as one that is rolled does not.
func TestInPlace_NoMachinesWanted_DoesNotAskTheShoot(t *testing.T) {
	t.Parallel()
	for _, orchestration := range []machinev1alpha1.OrchestrationType{"Auto", "Manual"} {
		t.Run(string(orchestration), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			d := b.deployment(2, inPlaceStrategy(orchestration, 0, 1))
			b.settle()
			b.change(d, nextClass(d))
			b.settle()
			b.deployments.Target = shootAway{b.target}
			b.change(d, func() { d.Spec.Replicas = 0 })
			b.settle()
			if left := len(b.all()); left > 0 {
				t.Errorf("%d machines are left", left)
			}
		})
	}
}

// TestCrashInPlace: the controller ends before each of its writes in turn, and another goes on: nothing is made or
// deleted.
func TestCrashInPlace(t *testing.T) {
	t.Parallel()
	crashes := 0
	for write := 1; ; write++ {
		b := newBench(t)
		d := b.deployment(2, inPlaceStrategy("Auto", 0, 1))
		b.until(func() bool { return b.running() == 2 })
		b.change(d, nextClass(d))
		b.writes = write
		crashed := false
		b.until(b.updated, b.agents, func() {
			if b.writes == 0 && !crashed {
				crashed = true
				b.restart()
			}
		})
		b.expect("after a crash", 2, 2, 2, 0)
		b.expectUpdated()
		if t.Failed() {
			t.Fatalf("with a crash before write %d", write)
		}
		if !crashed {
			break
		}
		crashes++
	}
	if crashes < 10 { // each machine with two writes to either set and one of its own
		t.Errorf("only %d writes were crashed at", crashes)
	}
}

// TestRestoredInPlace: on another seed the update goes on where it was.
func TestRestoredInPlace(t *testing.T) {
	t.Parallel()
	for steps := range 12 {
		b := newBench(t)
		d := b.deployment(2, inPlaceStrategy("Auto", 0, 1))
		b.until(func() bool { return b.running() == 2 })
		b.change(d, nextClass(d))
		for range steps {
			b.step()
			b.boot()
			b.agents()
		}
		n := restored(b)
		n.deployment(2, inPlaceStrategy("Auto", 0, 1), func(d *machinev1alpha1.MachineDeployment) { nextClass(d)() })
		n.until(n.updated, n.agents)
		n.expect("restored", 2, 2, 2, 0)
		n.expectUpdated()
		if t.Failed() {
			t.Fatalf("after %d steps", steps)
		}
	}
}

// TestInPlaceTimeout: an update that does not end is given up, holds the others up, and takes no machine.
func TestInPlaceTimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.updateInVain(nextClass)
	phases := map[machinev1alpha1.MachinePhase]int{}
	for _, m := range b.all() {
		phases[m.Status.CurrentStatus.Phase]++
	}
	if diff := cmp.Diff(map[machinev1alpha1.MachinePhase]int{"InPlaceUpdateFailed": 1, "Running": 1}, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	b.expect("given up", 2, 2, 2, 0)
	for _, node := range b.nodes() { // whoever has mended the node lets it be tried again
		if node.Labels["node.machine.sapcloud.io/update-result"] == "failed" {
			b.labelNode(node.Name, "node.machine.sapcloud.io/update-result", "")
		}
	}
	b.step() // it begins with all the time that there is
	b.step()
	for _, node := range b.nodes() {
		if node.Labels["node.machine.sapcloud.io/update-result"] == "failed" {
			t.Errorf("node %s is given up again at once", node.Name)
		}
	}
	b.settle(b.agents)
	b.expect("mended", 2, 2, 2, 0)
	b.expectUpdated()
}

// TestAFurtherUpdateMendsAFailedOne: where the class changes once more, with force, nodes that could not be updated to
// the class before are updated to that one, without anybody's touching them.
func TestAFurtherUpdateMendsAFailedOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.updateInVain(func(d *machinev1alpha1.MachineDeployment) func() {
		return func() { d.Spec.Template.Spec.Class.Name = "class-that-fails" }
	})
	b.expect("given up", 2, 2, 2, 0)
	b.change(d, nextClass(d))
	b.settle(b.agents)
	b.expect("mended", 2, 2, 2, 0)
	b.expectUpdated()
}

// updateInVain changes two machines in a way that no agent carries out, one after the other, until the first is given
// up.
func (b *bench) updateInVain(
	change func(*machinev1alpha1.MachineDeployment) func()) *machinev1alpha1.MachineDeployment {
	b.t.Helper()
	d := b.deployment(2, inPlaceStrategy("Auto", 0, 1), func(d *machinev1alpha1.MachineDeployment) {
		d.Spec.Template.Spec.MachineConfiguration = &machinev1alpha1.MachineConfiguration{
			MachineInPlaceUpdateTimeout: &metav1.Duration{Duration: 10 * time.Second}, DisableHealthTimeout: ptr.To(true),
		}
	})
	b.settle()
	b.change(d, change(d))
	b.settle()
	return d
}

// TestInPlaceDrain: pods are evicted before the update; what may not be evicted goes when the time for that is over.
func TestInPlaceDrain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.deployment(1, inPlaceStrategy("Auto", 0, 1), func(d *machinev1alpha1.MachineDeployment) {
		d.Spec.Template.Spec.MachineConfiguration = &machinev1alpha1.MachineConfiguration{
			MachineDrainTimeout: &metav1.Duration{Duration: 15 * time.Second}}
	})
	b.settle()
	node := b.nodes()[0].Name
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}, Spec: corev1.PodSpec{NodeName: node}}
	b.must(b.target.Create(t.Context(), pod))
	b.machines.Target = interceptor.NewClient(b.target, interceptor.Funcs{
		SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object,
			...client.SubResourceCreateOption) error {
			return apierrors.NewTooManyRequestsError("Cannot evict pod as it would violate the pod's disruption budget.")
		},
	})
	b.change(d, nextClass(d))
	begin := b.clock.Now()
	b.settle(b.agents, func() {
		gone := b.target.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}) != nil
		if early := b.clock.Since(begin) < 14*time.Second; gone && early {
			t.Errorf("the pod is gone after %s", b.clock.Since(begin))
		}
	})
	b.expect("updated", 1, 1, 1, 0)
	b.expectUpdated()
}

// TestANodeThatOthersWriteIsLookedAtAgain: who meets another's write to a node looks again without being woken. An
// event of a node wakes only its machine, and the last machine of an update has nothing to report any more.
func TestANodeThatOthersWriteIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.deployment(1, inPlaceStrategy("Manual", 0, 0))
	b.settle()
	b.change(d, nextClass(d))
	b.settle()
	node := b.nodes()[0].Name
	b.labelNode(node, "node.machine.sapcloud.io/selected-for-update", "true")
	for range 10 {
		_, err := b.machines.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&b.all()[0])})
		b.must(err)
		b.agents()
	}
	if phase := b.all()[0].Status.CurrentStatus.Phase; phase != "InPlaceUpdateSuccessful" {
		t.Fatalf("the machine is %s", phase)
	}
	writes := 0
	b.deployments.Target = interceptor.NewClient(b.target, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			if writes < 2 {
				writes++
				b.labelNode(node, "others", fmt.Sprint(writes))
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	var again []bool
	for range 3 {
		result, err := b.deployments.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(d)})
		b.must(err)
		again = append(again, result.RequeueAfter > 0)
	}
	if diff := cmp.Diff([]bool{true, true, false}, again); diff != "" {
		t.Errorf("it looks again (-want +got):\n%s", diff)
	}
	b.must(b.control.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	if labels := b.nodes()[0].Labels; len(labels) != 1 || d.Status.UpdatedReplicas != 1 {
		t.Errorf("labels %v, %d machines are updated", labels, d.Status.UpdatedReplicas)
	}
}

// TestAMoveWhileASetCounts: a set whose machine is given to another one while it counts its machines neither makes one
// for it nor ends another.
func TestAMoveWhileASetCounts(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		for _, counting := range []string{"class-1", "class-2"} {
			t.Run(fmt.Sprintf("before the list %t, set of %s", before, counting), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				d := b.deployment(2, inPlaceStrategy("Auto", 0, 1))
				b.settle()
				b.change(d, nextClass(d))
				_, err := b.deployments.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(d)})
				b.must(err)
				from, to := b.setOf("class-1"), b.setOf("class-2")
				m, moved := b.all()[0], false
				b.sets.Control = interceptor.NewClient(b.control, interceptor.Funcs{
					List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
						move := func() {
							if !moved {
								moved = true
								b.must(b.deployments.move(ctx, &m, from, to))
							}
						}
						if before {
							move()
						}
						err := c.List(ctx, list, opts...)
						move()
						return err
					},
				})
				_, err = b.sets.Reconcile(t.Context(),
					reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b.setOf(counting))})
				b.must(err)
				if !moved {
					t.Fatal("nothing was moved")
				}
				b.expect("moved", 2, 2, 2, 0)
				for _, m := range b.all() {
					if m.DeletionTimestamp != nil {
						t.Errorf("machine %s is being deleted", m.Name)
					}
				}
			})
		}
	}
}

func (b *bench) setOf(class string) *machinev1alpha1.MachineSet {
	b.t.Helper()
	sets := &machinev1alpha1.MachineSetList{}
	b.must(b.control.List(b.t.Context(), sets))
	for i := range sets.Items {
		if sets.Items[i].Spec.Template.Spec.Class.Name == class {
			return &sets.Items[i]
		}
	}
	b.t.Fatalf("no set of %s", class)
	return nil
}
