package care

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/cachefirst"
	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Labeler keeps the label with the overall status of every shoot (docs/specification/care.md#spec-5-10). It runs in the
// garden-controller-manager, so that the label follows the status whoever has written it.
type Labeler struct {
	// Garden is an uncached client.
	Garden client.Client
}

// AddToManager adds the Labeler to a manager on the garden.
func (l *Labeler) AddToManager(mgr manager.Manager) error {
	err := builder.ControllerManagedBy(mgr).Named("shoot-status-label").For(&gardencorev1beta1.Shoot{}).
		Complete(&cachefirst.Reconciler{
			Live: l.Garden, Cached: mgr.GetCache(), Locked: true,
			Of: func(c client.Client) reconcile.Reconciler { return &Labeler{Garden: c} },
		})
	if err != nil {
		return fmt.Errorf("add the controller of the status label: %w", err)
	}
	return nil
}

// Reconcile labels one shoot.
func (l *Labeler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := l.Garden.Get(ctx, request.NamespacedName, shoot); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	label, _ := health.Label(&shoot.Status)
	if shoot.Labels[constants.ShootStatus] == string(label) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(patch.LockedObject(ctx, l.Garden, shoot, func() {
		metav1.SetMetaDataLabel(&shoot.ObjectMeta, constants.ShootStatus, string(label))
	}))
}
