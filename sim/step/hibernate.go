package step

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
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
func (h *Hibernate) Check(path *field.Path, state *State) field.ErrorList {
	shoot, errs := state.shoot(path.Child("shoot"), h.Shoot, awake)
	errs = append(errs, state.garden(path)...)
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
