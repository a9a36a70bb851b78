package machine

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// TestEvictions: a budget that refuses holds a node as long as the drain may last, however often it is asked; a pod
// that cannot be evicted for another reason is deleted after some tries.
func TestEvictions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		refuse error
		looks  int
		gone   bool
	}{
		{"the budget refuses",
			apierrors.NewTooManyRequestsError("Cannot evict pod as it would violate the pod's disruption budget."), 20, false},
		{"two budgets, tried twice", apierrors.NewInternalError(errTest("This pod has more than one PodDisruptionBudget")), 2,
			false},
		{"two budgets, tried three times",
			apierrors.NewInternalError(errTest("This pod has more than one PodDisruptionBudget")), 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.machines.Target = interceptor.NewClient(b.target, interceptor.Funcs{
				SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object,
					...client.SubResourceCreateOption) error {
					return c.refuse
				},
			})
			m := &machinev1alpha1.Machine{
				ObjectMeta: metav1.ObjectMeta{UID: "m", Labels: map[string]string{machinev1alpha1.LabelNode: "node"}},
				Spec: machinev1alpha1.MachineSpec{MachineConfiguration: &machinev1alpha1.MachineConfiguration{
					MaxEvictRetries: ptr.To[int32](3)}},
			}
			b.must(b.target.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}))
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"},
				Spec: corev1.PodSpec{NodeName: "node"}}
			b.must(b.target.Create(t.Context(), pod))
			for range c.looks {
				if left, err := b.machines.drain(t.Context(), m); left != 1 || (err == nil && !c.gone) {
					t.Fatalf("%d pods left, %v", left, err)
				}
			}
			err := b.target.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
			if apierrors.IsNotFound(err) != c.gone {
				t.Errorf("the pod is gone: %t, want %t", apierrors.IsNotFound(err), c.gone)
			}
		})
	}
}

type errTest string

func (e errTest) Error() string { return string(e) }

// TestDefaultsOfAMachine are those of shoot updates.
func TestDefaultsOfAMachine(t *testing.T) {
	t.Parallel()
	m := &machinev1alpha1.Machine{}
	r := &Machines{Timeouts: DefaultTimeouts}
	if c, h, d, n := r.creationTimeout(m), r.healthTimeout(m), r.drainTimeout(m), r.evictRetries(m); c != 10*time.Minute ||
		h != 10*time.Minute || d != 2*time.Hour || n != 10 {
		t.Errorf("creation %v, health %v, drain %v, evictions %d", c, h, d, n)
	}
	for _, condition := range []corev1.NodeConditionType{"KernelDeadlock", "ReadonlyFilesystem", "DiskPressure"} {
		node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True"},
			{Type: condition, Status: "True"}}}}
		if sick(m, node) == "" {
			t.Errorf("a node with the condition %s counts as healthy", condition)
		}
	}
}
