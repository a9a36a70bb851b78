package migration

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

// Chunks removes the chunks of saved states that nobody needs any more (docs/specification/state-size.md#z3). It runs
// in the garden-controller-manager: gardenlets may not list chunks (docs/adr/0017-rights-follow-shoots.md).
type Chunks struct {
	// States has an uncached client.
	States *shootstate.Store
}

// Reconcile removes those of one shoot.
func (r *Chunks) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, r.States.Prune(ctx, request.NamespacedName)
}
