package machine

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// TestRestoredInARoll: a rolling update goes on on another seed, from any step of it, with never a machine less than wanted.
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
