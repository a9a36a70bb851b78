package shoot

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
)

// AddToManager adds the Reconciler to a manager on the garden. It works on up to workers shoots at a time.
func (r *Reconciler) AddToManager(mgr manager.Manager, workers int) error {
	mine := predicate.NewPredicateFuncs(func(object client.Object) bool {
		shoot, ok := object.(*gardencorev1beta1.Shoot)
		return ok && lifecycle.ResponsibleSeed(shoot.Spec.SeedName, shoot.Status.SeedName) == r.Factory.SeedName
	})
	err := builder.ControllerManagedBy(mgr).
		Named("shoot").
		For(&gardencorev1beta1.Shoot{}, builder.WithPredicates(mine)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add the shoot controller: %w", err)
	}
	return nil
}
