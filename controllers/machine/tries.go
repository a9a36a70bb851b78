package machine

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// tries counts evictions that failed, by machine and pod. A controller that starts again begins anew: pods are then
// treated more gently, not less.
type tries struct {
	mutex  sync.Mutex
	failed map[types.UID]map[types.UID]int32
}

// count adds one try and says how many there were.
func (t *tries) count(m *machinev1alpha1.Machine, pod *corev1.Pod) int32 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.failed == nil {
		t.failed = map[types.UID]map[types.UID]int32{}
	}
	if t.failed[m.UID] == nil {
		t.failed[m.UID] = map[types.UID]int32{}
	}
	t.failed[m.UID][pod.UID]++
	return t.failed[m.UID][pod.UID]
}

// forget is for machines that are gone.
func (t *tries) forget(m *machinev1alpha1.Machine) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.failed, m.UID)
}
