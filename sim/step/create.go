package step

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// Create creates a shoot of the landscape at this step instead of before the first one, or again after it was deleted,
// and waits until it is as the landscape wants it.
type Create struct {
	// Shoot of the landscape.
	Shoot string `json:"shoot"`
	// Within is how long that may take, two minutes when not given.
	Within metav1.Duration `json:"within,omitzero"`
}

var _ Step = &Create{}

// Default fills in the deadline.
func (c *Create) Default() {
	c.Within.Duration = cmp.Or(c.Within.Duration, 2*time.Minute)
}

func (c *Create) deadline() *metav1.Duration { return &c.Within }

// Subject is the shoot.
func (c *Create) Subject() string { return c.Shoot }

func (c *Create) String() string { return "create " + c.Shoot }

// Check wants a shoot of the landscape that does not exist yet.
func (c *Create) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	errs := append(state.Garden(path), positive(path.Child("within"), c.Within)...)
	errs = append(errs, state.KeepsSeed(path.Child("shoot"), c.Shoot, "which is there from the beginning: leave the step "+
		"out")...)
	shoot, known := state.Shoots[c.Shoot]
	if !known {
		absent := func(shoot *dryrun.Shoot) bool { return !shoot.Exists }
		return append(errs, state.NoSuch(path.Child("shoot"), c.Shoot, absent))
	}
	if shoot.Exists && !state.Unsure {
		errs = append(errs, field.Invalid(path.Child("shoot"), c.Shoot, "exists already at this step"))
	}
	wanted, _ := state.Landscape.Shoot(c.Shoot)
	*shoot = dryrun.Shoot{Exists: true, Asleep: wanted.Hibernated, Seed: wanted.Seed}
	return errs
}

// Run creates the shoot.
func (c *Create) Run(ctx context.Context, env *Environment) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Within.Duration, fmt.Errorf("the shoot %q was not ready within %s",
		c.Shoot, c.Within.Duration))
	defer cancel()
	return env.Shoots.SetUp(ctx, c.Shoot)
}

func positive(path *field.Path, d metav1.Duration) field.ErrorList {
	if d.Duration <= 0 {
		return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be a positive duration such as 30s")}
	}
	return nil
}
