package run

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// AtWork knows which flows of a gardenlet do their work at the moment: between the first and the last write of the
// shoot's status. It knows only of this process, so that it may say when not to ask, and nothing else. The zero value
// knows of none, and neither does nil.
type AtWork struct {
	mu    sync.Mutex
	flows map[client.ObjectKey]gardencorev1beta1.LastOperationType
}

// On is the flow that works on a shoot.
func (w *AtWork) On(shoot client.ObjectKey) (flow gardencorev1beta1.LastOperationType, works bool) {
	if w == nil {
		return "", false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	flow, works = w.flows[shoot]
	return flow, works
}

// Begin notes the work of a flow, until end is called. No other flow of this gardenlet works on the shoot meanwhile.
func (w *AtWork) Begin(shoot client.ObjectKey, flow gardencorev1beta1.LastOperationType) (end func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flows == nil {
		w.flows = map[client.ObjectKey]gardencorev1beta1.LastOperationType{}
	}
	w.flows[shoot] = flow
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.flows, shoot)
	}
}
