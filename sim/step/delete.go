package step

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// Delete asks for a shoot to be deleted. It does not wait for it.
type Delete struct {
	// Shoot that goes.
	Shoot string `json:"shoot"`
	// Refused lets the step expect that the API refuses the deletion, which it must.
	Refused bool `json:"refused,omitempty"`
}

var _ Step = &Delete{}

// Subject is the shoot.
func (d *Delete) Subject() string { return d.Shoot }

func (d *Delete) String() string { return "delete " + d.Shoot + inVain(d.Refused) }

// Check wants an existing shoot.
func (d *Delete) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	shoot, errs := state.Shoot(path.Child("shoot"), d.Shoot, dryrun.Exists)
	errs = append(errs, state.Garden(path)...)
	if !d.Refused {
		errs = append(errs, state.KeepsSeed(path.Child("shoot"), d.Shoot, "whose deletion is refused: name another "+
			"shoot, or expect that with refused: true")...)
	}
	if shoot != nil && !d.Refused {
		shoot.Exists, shoot.Leaving = false, true
	}
	return errs
}

// Run confirms the deletion and deletes.
func (d *Delete) Run(ctx context.Context, env *Environment) error {
	if d.Refused {
		return refused(d.String(), env.DeleteShoot(ctx, d.Shoot))
	}
	env.Shoots.Dismiss(d.Shoot)
	return env.DeleteShoot(ctx, d.Shoot)
}

// DeleteShoot confirms the deletion of a shoot and asks for it; one that is gone is no error.
func (s *Environment) DeleteShoot(ctx context.Context, shoot string) error {
	confirmed := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{constants.ConfirmationDeletion: "true"}}}
	if err := s.patchShoot(ctx, shoot, confirmed); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	garden, err := s.Clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	key := s.World.ShootKey(shoot)
	err = garden.Delete(ctx, &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace,
		Name: key.Name}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the shoot %q: %w", shoot, err)
	}
	return nil
}
