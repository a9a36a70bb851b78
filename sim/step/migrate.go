package step

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// askAgain is how long a move that was refused waits before it is asked for again.
const askAgain = 100 * time.Millisecond

// Migrate asks for a shoot's control plane to move to another seed (docs/specification/migration.md#spec-2-2). It does
// not wait for it.
type Migrate struct {
	// Shoot that moves.
	Shoot string `json:"shoot"`
	// To is the seed.
	To string `json:"to"`
	// Refused lets the step expect that the API refuses the move, which it must. The shoot may be in deletion then.
	Refused bool `json:"refused,omitempty"`
	// Within has the step ask again for so long as the API refuses the move: it refuses every one in the middle of
	// another. Once only when not given.
	Within metav1.Duration `json:"within,omitzero"`
}

var _ Step = &Migrate{}

func (m *Migrate) deadline() *metav1.Duration { return &m.Within }

// Subject is the shoot.
func (m *Migrate) Subject() string { return m.Shoot }

func (m *Migrate) String() string {
	return fmt.Sprintf("migrate %s to %s", m.Shoot, m.To) + inVain(m.Refused)
}

// Check wants an existing shoot and another seed than the one it is bound to.
func (m *Migrate) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	shoot, errs := state.Shoot(path.Child("shoot"), m.Shoot, dryrun.Exists)
	if m.Refused { // of a shoot that is being deleted, too
		shoot, errs = nil, nil
		if _, known := state.Shoots[m.Shoot]; !known {
			errs = append(errs, state.NoSuch(path.Child("shoot"), m.Shoot, func(*dryrun.Shoot) bool { return true }))
		}
	}
	switch within := path.Child("within"); {
	case m.Within.Duration < 0:
		errs = append(errs, positive(within, m.Within)...)
	case m.Within.Duration > 0 && m.Refused:
		errs = append(errs, field.Forbidden(within,
			"a move that must be refused is asked for once: leave out one of the two"))
	}
	errs = append(errs, state.Garden(path)...)
	if seeds := state.Landscape.SeedNames(); !slices.Contains(seeds, m.To) {
		others := slices.DeleteFunc(seeds, func(seed string) bool { return shoot != nil && shoot.Seed == seed })
		return append(errs, dryrun.NoneOf(path.Child("to"), m.To, others))
	}
	if shoot == nil {
		return errs
	}
	if shoot.Seed == m.To {
		errs = append(errs, field.Invalid(path.Child("to"), m.To,
			"is the seed that the shoot is bound to at this step: name another"))
	}
	shoot.Seed = m.To // known again, whatever has happened before
	return errs
}

// Run changes spec.seedName.
func (m *Migrate) Run(ctx context.Context, env *Environment) error {
	until := env.Clock.Now().Add(m.Within.Duration)
	for {
		err := env.patchShoot(ctx, m.Shoot, map[string]any{"spec": map[string]any{"seedName": m.To}})
		switch {
		case m.Refused:
			return refused(m.String(), err)
		case !apierrors.IsForbidden(err) || !env.Clock.Now().Before(until):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-env.Clock.After(askAgain):
		}
	}
}

// To is the seed that a shoot is to be moved to; empty for every other step.
func (s *Spec) To() string {
	if s.Migrate == nil {
		return ""
	}
	return s.Migrate.To
}
