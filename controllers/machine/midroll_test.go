package machine

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// TestRestoredInARoll: a rolling update goes on on another seed, from any step of it, with never a machine less than
// wanted.
func TestRestoredInARoll(t *testing.T) {
	t.Parallel()
	for steps := 0; steps < 14; steps += 3 {
		for _, silent := range []bool{false, true} {
			b := newBench(t)
			d := b.deployment(3)
			b.settle()
			b.change(d, nextClass(d))
			for range steps {
				b.step()
				b.boot()
			}
			n := restored(b)
			if silent {
				n.setReady(corev1.ConditionUnknown, func(string) bool { return true })
			}
			n.deployment(3, func(d *machinev1alpha1.MachineDeployment) { nextClass(d)() })
			woken := 0
			n.settle(func() {
				if woken++; woken == 5 {
					n.setReady(corev1.ConditionTrue, func(string) bool { return true })
				}
				if vms := len(n.cloud.ids()); vms < 3 || vms > 4 {
					t.Errorf("%d machines", vms)
				}
			})
			if len(n.all()) != 3 || len(n.cloud.ids()) != 3 {
				t.Errorf("in the end %d Machines, %d machines", len(n.all()), len(n.cloud.ids()))
			}
			if t.Failed() {
				t.Fatalf("after %d steps, silent %t", steps, silent)
			}
		}
	}
}

// The lost seed has ended a machine of a roll after its state was saved, and the node of that
// machine, which comes from a backup, is Ready for some time yet. It counts for nothing: no other machine may go
// instead of it.
func TestMidRoll_MachineEndedAfterStateWasSaved_CountsForNothing(t *testing.T) {
	t.Parallel()
	for victim := range 3 {
		b := newBench(t)
		d := b.deployment(3)
		b.settle()
		old := b.all()
		b.change(d, nextClass(d))
		for left := 40; b.running() < 4 && left > 0; left-- {
			b.step()
			b.boot()
		}
		n := restored(b)
		b.must(b.cloud.Delete(t.Context(), idOf(old[victim].Spec.ProviderID)))
		n.deployment(3, func(d *machinev1alpha1.MachineDeployment) { nextClass(d)() })
		bounded := func() {
			if vms := len(n.cloud.ids()); vms < 3 || vms > 4 {
				t.Errorf("%d machines", vms)
			}
		}
		for range 10 { // in which nobody notices that the node is silent
			n.step()
			bounded()
		}
		n.settle(bounded)
		if len(n.all()) != 3 || len(n.cloud.ids()) != 3 {
			t.Errorf("in the end %d Machines, %d machines", len(n.all()), len(n.cloud.ids()))
		}
		if t.Failed() {
			t.Fatalf("when machine %d was ended", victim)
		}
	}
}
