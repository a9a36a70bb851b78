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
func (h *Hibernate) Check(path *field.Path, plot *Plot) field.ErrorList {
	role, errs := plot.shoot(path.Child("shoot"), h.Shoot, awake)
	errs = append(errs, plot.garden(path)...)
	if role == nil {
		return errs
	}
	if role.Asleep {
		errs = append(errs, field.Invalid(path.Child("shoot"), h.Shoot, "is hibernated already at this step"))
	}
	role.Asleep = true
	return errs
}

// Run sets spec.hibernation.enabled.
func (h *Hibernate) Run(ctx context.Context, env *Environment) error {
	return env.patchShoot(ctx, h.Shoot, hibernation(true))
}

func hibernation(enabled bool) map[string]any {
	return map[string]any{"spec": map[string]any{"hibernation": map[string]any{"enabled": enabled}}}
}
