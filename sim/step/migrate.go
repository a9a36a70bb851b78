package step

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/step/dryrun"
	"github.com/transplant-sim/transplant/sim/world"
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
	errs = append(errs, state.Host(path.Child("to"), m.Shoot, m.To)...)
	state.Bind(shoot, m.To)
	shoot.Outside, shoot.Handed = false, false // or the garden would refuse it
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
	switch {
	case s.Migrate != nil:
		return s.Migrate.To
	case s.HandOver != nil:
		return s.HandOver.To
	}
	return ""
}

// RestoreOutside runs the control plane of a shoot outside any seed, from its bucket and its ShootState, as an operator
// does with `transplant restore-control-plane` (docs/ring.md#cold-start). It does not wait until that serves. From then
// on the seed of the shoot is "outside".
type RestoreOutside struct {
	// Shoot whose control plane it is.
	Shoot string `json:"shoot"`
	// Refused lets the step expect that the command refuses the shoot, which it must, as one that somebody else runs.
	Refused bool `json:"refused,omitempty"`
}

var _ Step = &RestoreOutside{}

// Subject is the shoot.
func (r *RestoreOutside) Subject() string { return r.Shoot }

func (r *RestoreOutside) String() string {
	return fmt.Sprintf("restore the control plane of %s outside any seed", r.Shoot) + inVain(r.Refused)
}

// Check wants a shoot that may have a control plane. Where the shoot is afterwards, a later hand-over says.
func (r *RestoreOutside) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	shoot, errs := state.Shoot(path.Child("shoot"), r.Shoot, dryrun.Awake)
	if !r.Refused {
		state.Outside = true
	}
	switch {
	case shoot == nil || r.Refused:
	case shoot.Asleep:
		errs = append(errs, field.Invalid(path.Child("shoot"), r.Shoot, "is hibernated at this step: wake it before"))
	case shoot.Outside && !shoot.Handed:
		errs = append(errs, field.Invalid(path.Child("shoot"), r.Shoot, "runs outside any seed already at this step: "+
			"hand it over before, or leave the step out"))
	default:
		shoot.Seed, shoot.Outside, shoot.Handed = "", true, false
	}
	return append(errs, state.Garden(path)...)
}

// errNotOutside says that a landscape runs no control plane outside its seeds.
var errNotOutside = errors.New("this backend runs no control plane outside its seeds")

// Run starts the command.
func (r *RestoreOutside) Run(ctx context.Context, env *Environment) error {
	place, can := env.World.(world.Outside)
	if !can {
		return fmt.Errorf("%s: %w", r, errNotOutside)
	}
	err := place.RestoreOutside(ctx, r.Shoot)
	was, is := errors.AsType[world.RefusedOutside](err)
	switch {
	case r.Refused && err == nil:
		return Unmet{Why: r.String() + ": it has begun"}
	case r.Refused && is && was.Owned:
		return nil
	case is:
		return Unmet{Why: fmt.Sprintf("%s: it was refused: %s", r, was.Why)}
	}
	return err
}

// HandOver has a control plane that runs outside any seed go to a seed, as soon as that is ready. It does not wait for
// that.
type HandOver struct {
	// Shoot whose control plane it is.
	Shoot string `json:"shoot"`
	// To is the seed.
	To string `json:"to"`
}

var _ Step = &HandOver{}

// Subject is the shoot.
func (h *HandOver) Subject() string { return h.Shoot }

func (h *HandOver) String() string { return fmt.Sprintf("hand %s over to %s", h.Shoot, h.To) }

// Check wants a shoot that was restored outside any seed, and a seed.
func (h *HandOver) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	shoot, errs := state.Shoot(path.Child("shoot"), h.Shoot, dryrun.Awake)
	errs = append(errs, state.Garden(path)...)
	if seeds := state.Landscape.SeedNames(); !slices.Contains(seeds, h.To) {
		return append(errs, dryrun.NoneOf(path.Child("to"), h.To, seeds))
	}
	if shoot == nil {
		return errs
	}
	if !shoot.Outside {
		errs = append(errs, field.Invalid(path.Child("shoot"), h.Shoot, "does not run outside any seed at this step: "+
			"restoreOutside it before, or migrate it"))
	}
	if h.To == h.Shoot { // what else is in its way may go before the seed is ready
		errs = append(errs, field.Invalid(path.Child("to"), h.To, "cannot host itself: name another seed"))
	}
	state.Bind(shoot, h.To)
	shoot.Handed = true
	return errs
}

// Run sets the annotation that the control plane looks for.
func (h *HandOver) Run(ctx context.Context, env *Environment) error {
	return env.patchShoot(ctx, h.Shoot, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{constants.HandOver: h.To}}})
}
