package maintenance

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// AddToManager adds the Reconciler to a manager on the garden. What wakes it beside its own appointments is a new
// shoot, another time window or cloud profile, and the wish for maintenance.
func (r *Reconciler) AddToManager(mgr manager.Manager) error {
	err := builder.ControllerManagedBy(mgr).Named("shoot-maintenance").
		For(&gardencorev1beta1.Shoot{}, builder.WithPredicates(predicate.Funcs{
			UpdateFunc: func(e event.UpdateEvent) bool {
				old, was := e.ObjectOld.(*gardencorev1beta1.Shoot)
				shoot, is := e.ObjectNew.(*gardencorev1beta1.Shoot)
				return was && is && wakes(old, shoot)
			},
			DeleteFunc: func(event.DeleteEvent) bool { return false },
		})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", "shoot-maintenance", err)
	}
	return nil
}

func wakes(old, shoot *gardencorev1beta1.Shoot) bool {
	if AskedFor(shoot) && !AskedFor(old) || profileName(old) != profileName(shoot) {
		return true
	}
	before, now := old.Spec.Maintenance, shoot.Spec.Maintenance
	if before == nil || now == nil {
		return before != now
	}
	return !equality.Semantic.DeepEqual(before.TimeWindow, now.TimeWindow)
}

// profileName is that of the shoot's CloudProfile, empty where there is none that can be looked up: without one no
// maintenance has an appointment.
func profileName(shoot *gardencorev1beta1.Shoot) string {
	name, _, _ := placement.ProfileOf(shoot)
	return name
}
