package step

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// Hibernate asks for a shoot to go to sleep. It does not wait for it.
type Hibernate struct {
	// Shoot that goes to sleep.
	Shoot string `json:"shoot"`
}

var _ Step = &Hibernate{}

// Subject is the shoot.
func (h *Hibernate) Subject() string { return h.Shoot }

func (h *Hibernate) String() string { return "hibernate " + h.Shoot }

// Check wants a shoot that is awake.
func (h *Hibernate) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	shoot, errs := state.Shoot(path.Child("shoot"), h.Shoot, dryrun.Awake)
	errs = append(errs, state.Garden(path)...)
	errs = append(errs, state.KeepsSeed(path.Child("shoot"), h.Shoot, "which never sleeps: name another shoot")...)
	if shoot == nil {
		return errs
	}
	if shoot.Asleep {
		errs = append(errs, field.Invalid(path.Child("shoot"), h.Shoot, "is hibernated already at this step"))
	}
	shoot.Asleep = true
	return errs
}

// Run sets spec.hibernation.enabled.
func (h *Hibernate) Run(ctx context.Context, env *Environment) error {
	return env.patchShoot(ctx, h.Shoot, hibernation(true))
}

func hibernation(enabled bool) map[string]any {
	return map[string]any{"spec": map[string]any{"hibernation": map[string]any{"enabled": enabled}}}
}

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
func (w *Wake) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	shoot, errs := state.Shoot(path.Child("shoot"), w.Shoot, func(s *dryrun.Shoot) bool { return s.Exists && s.Asleep })
	errs = append(errs, state.Garden(path)...)
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
