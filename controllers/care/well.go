package care

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/controlplane"
)

// fullLooks is how many looks there are from one at everything in a shoot to the next, while the shoot is well.
const fullLooks = 6

// well is what a look at everything has seen of a shoot that was well.
type well struct {
	seen          health.Cluster
	at            time.Time
	uid           types.UID
	generation    int64
	lastOperation *gardencorev1beta1.LastOperation
}

// cluster is what was seen; nil for nothing.
func (w *well) cluster() *health.Cluster {
	if w == nil {
		return nil
	}
	return &w.seen
}

// stillWell is what was remembered, if everything in it but nodes still counts. It is nil if the next look at
// everything is due, or the shoot has changed since: it is another one, or its specification or an operation has.
func (r *Reconciler) stillWell(o *controlplane.Operation, remembered any) *well {
	w, _ := remembered.(*well)
	if w == nil || r.SyncPeriod >= DefaultSyncPeriod || !succeeded(o.Shoot) ||
		o.Clock.Since(w.at) >= min(fullLooks*r.SyncPeriod, DefaultSyncPeriod) || w.uid != o.Shoot.UID ||
		w.generation != o.Shoot.Generation ||
		!equality.Semantic.DeepEqual(w.lastOperation, o.Shoot.Status.LastOperation) {
		return nil
	}
	return w
}

// remember is what to keep of a look at a shoot that is well. Its webhooks and definitions do not matter, and may be
// large.
func remember(o *controlplane.Operation, l *look) *well {
	if l.before != nil {
		l.before.seen.NodeLeases, l.before.seen.NodeAgentLeases = l.Cluster.NodeLeases, l.Cluster.NodeAgentLeases
		return l.before
	}
	w := &well{seen: l.Cluster, at: o.Clock.Now(), uid: o.Shoot.UID, generation: o.Shoot.Generation,
		lastOperation: o.Shoot.Status.LastOperation}
	w.seen.Nodes.Items = nil
	w.seen.Validating.Items, w.seen.Mutating.Items, w.seen.CRDs.Items = nil, nil, nil
	return w
}
