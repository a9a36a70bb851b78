package step

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Wake asks for a shoot to wake up. It does not wait for it.
type Wake struct {
	// Shoot that wakes up.
	Shoot string `json:"shoot"`
}

var _ Step = &Wake{}

// Subject is the shoot.
func (w *Wake) Subject() string { return w.Shoot }

func (w *Wake) String() string { return "wake " + w.Shoot }

// Check wants a shoot that is hibernated.
func (w *Wake) Check(path *field.Path, state *State) field.ErrorList {
	shoot, errs := state.shoot(path.Child("shoot"), w.Shoot, func(s *ShootState) bool { return s.Exists && s.Asleep })
	errs = append(errs, state.garden(path)...)
	if shoot == nil {
		return errs
	}
	if !shoot.Asleep {
		errs = append(errs, field.Invalid(path.Child("shoot"), w.Shoot, "is awake at this step: hibernate it before"))
	}
	shoot.Asleep = false
	return errs
}

// Run clears spec.hibernation.enabled.
func (w *Wake) Run(ctx context.Context, env *Environment) error {
	return env.patchShoot(ctx, w.Shoot, hibernation(false))
}
