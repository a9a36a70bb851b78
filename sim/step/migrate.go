package step

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Migrate asks for a shoot's control plane to move to another seed (SPEC 2.2). It does not wait for it.
type Migrate struct {
	// Shoot that moves.
	Shoot string `json:"shoot"`
	// To is the seed.
	To string `json:"to"`
	// Refused lets the step expect that the API refuses the move, which it must. The shoot may be in deletion then.
	Refused bool `json:"refused,omitempty"`
}

var _ Step = &Migrate{}

// Subject is the shoot.
func (m *Migrate) Subject() string { return m.Shoot }

func (m *Migrate) String() string {
	return fmt.Sprintf("migrate %s to %s", m.Shoot, m.To) + inVain(m.Refused)
}

// Check wants an existing shoot and another seed than the one it is bound to.
func (m *Migrate) Check(path *field.Path, plot *Plot) field.ErrorList {
	role, errs := plot.shoot(path.Child("shoot"), m.Shoot)
	if m.Refused { // of a shoot that is being deleted, too
		role, errs = nil, nil
		if _, known := plot.Shoots[m.Shoot]; !known {
			errs = append(errs, field.NotSupported(path.Child("shoot"), m.Shoot, plot.Landscape.ShootNames()))
		}
	}
	errs = append(errs, plot.garden(path)...)
	if seeds := plot.Landscape.SeedNames(); !slices.Contains(seeds, m.To) {
		return append(errs, field.NotSupported(path.Child("to"), m.To, seeds))
	}
	if role == nil {
		return errs
	}
	if role.Seed == m.To {
		errs = append(errs, field.Invalid(path.Child("to"), m.To, "is the seed that the shoot is bound to at this step: name another"))
	}
	role.Seed = m.To // known again, whatever has happened before
	return errs
}

// Run changes spec.seedName.
func (m *Migrate) Run(ctx context.Context, stage *Stage) error {
	err := stage.patchShoot(ctx, m.Shoot, map[string]any{"spec": map[string]any{"seedName": m.To}})
	if m.Refused {
		return refused(m.String(), err)
	}
	return err
}

// To is the seed that a shoot is to be moved to; empty for every other step.
func (s *Spec) To() string {
	if s.Migrate == nil {
		return ""
	}
	return s.Migrate.To
}
