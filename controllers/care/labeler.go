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
	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Labeler keeps the label with the overall status of every shoot (docs/specification/care.md#spec-5-10). It runs in the
// garden-controller-manager, so that the label follows the status whoever has written it.
type Labeler struct {
	// Garden may read from a cache: each event of a shoot, also that of its label, is looked at.
	Garden client.Client
}

// AddToManager adds the Labeler to a manager on the garden.
func (l *Labeler) AddToManager(mgr manager.Manager) error {
	err := builder.ControllerManagedBy(mgr).Named("shoot-status-label").For(&gardencorev1beta1.Shoot{}).
		Complete(l)
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
	// Without a lock: who changes a shoot that is restored writes its status all the time.
	return reconcile.Result{}, client.IgnoreNotFound(patch.Object(ctx, l.Garden, shoot, func() {
		metav1.SetMetaDataLabel(&shoot.ObjectMeta, constants.ShootStatus, string(label))
	}))
}
