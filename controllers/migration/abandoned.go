package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// Abandoned removes what deleted shoots have left on this seed. A seed that was away while its shoot was evacuated and
// then deleted learns of neither. Abandoned changes nothing outside the seed, and nothing at all unless DNS says that
// another seed owns the shoot, or none does.
type Abandoned struct {
	Factory *controlplane.Factory
	// Period is between two looks at all control-plane namespaces.
	Period time.Duration
}

// AddToManager adds the Abandoned to a manager on the garden.
func (a *Abandoned) AddToManager(mgr manager.Manager) error {
	if err := mgr.Add(a); err != nil {
		return fmt.Errorf("add the removal of abandoned control planes: %w", err)
	}
	return nil
}

// Start looks until ctx is done, for the first time at once.
func (a *Abandoned) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("abandoned")
	wait.UntilWithContext(log.IntoContext(ctx, logger), func(ctx context.Context) {
		if err := a.look(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "The removal of abandoned control planes is tried again")
		}
	}, a.Period)
	return nil
}

func (a *Abandoned) look(ctx context.Context) error {
	namespaces := &corev1.NamespaceList{}
	if err := a.Factory.Seed.List(ctx, namespaces,
		client.MatchingLabels{constants.GardenRole: constants.GardenRoleShoot}); err != nil {
		return fmt.Errorf("list the control-plane namespaces: %w", err)
	}
	var errs []error
	for i := range namespaces.Items {
		if err := a.remove(ctx, &namespaces.Items[i]); err != nil {
			errs = append(errs, fmt.Errorf("namespace %q: %w", namespaces.Items[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

func (a *Abandoned) remove(ctx context.Context, home *corev1.Namespace) error {
	key, known := namespace.ShootOf(home)
	if !known {
		return nil
	}
	unlock, free := a.Factory.TryLock(key)
	if !free {
		return nil // its deletion, perhaps
	}
	defer unlock()
	o, err := a.Factory.Abandoned(ctx, log.FromContext(ctx), home)
	if o == nil || err != nil {
		return err
	}
	here, err := o.Ownership.Survey(ctx)
	if err != nil {
		return err
	}
	answer, err := here.Next(ctx, tenure.AbandonedCleanup)
	if err != nil || answer != tenure.Remove {
		return err
	}
	log.FromContext(ctx).Info("The shoot is no more, what it has left goes", "namespace", home.Name)
	return o.Leftovers.Remove(ctx, o.Entries.Purge)
}
