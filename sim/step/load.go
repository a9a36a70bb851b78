package step

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// Load starts numbered writes to a shoot through its public name; they go on until the end of the run.
type Load struct {
	// Shoot that is written to.
	Shoot string `json:"shoot"`
	// WritesPerSecond is the rate, 20 when not given.
	WritesPerSecond int `json:"writesPerSecond,omitempty"`
	// KeepConnection lets the writer use one connection instead of a new one for each write.
	KeepConnection bool `json:"keepConnection,omitempty"`
	// KeepAddress adds a reader that stays at the address that the shoot's name has at this step, as clients do that never
	// ask DNS again. It reads from the API server's memory, and SingleWriter wants nobody to answer whose epoch is over.
	KeepAddress bool `json:"keepAddress,omitempty"`
}

const maxWritesPerSecond = 1000

var _ Step = &Load{}

// Default fills in the rate.
func (l *Load) Default() {
	l.WritesPerSecond = cmp.Or(l.WritesPerSecond, 20)
}

// Subject is the shoot.
func (l *Load) Subject() string { return l.Shoot }

func (l *Load) String() string {
	return fmt.Sprintf("load %s with %d writes a second", l.Shoot, l.WritesPerSecond)
}

// Check wants an awake shoot without load, and a sane rate.
func (l *Load) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	quiet := func(s *dryrun.Shoot) bool { return dryrun.Awake(s) && !s.Loaded }
	shoot, errs := state.Shoot(path.Child("shoot"), l.Shoot, quiet)
	if shoot != nil && shoot.Asleep {
		errs = append(errs, field.Invalid(path.Child("shoot"), l.Shoot, "is hibernated at this step: wake it before"))
	}
	if shoot != nil && shoot.Loaded {
		errs = append(errs, field.Invalid(path.Child("shoot"), l.Shoot, "has a load already: one is enough"))
	}
	if l.WritesPerSecond < 0 || l.WritesPerSecond > maxWritesPerSecond {
		errs = append(errs, field.Invalid(path.Child("writesPerSecond"), l.WritesPerSecond,
			fmt.Sprintf("must be from 1 to %d", maxWritesPerSecond)))
	}
	if l.KeepAddress { // which is looked up at this step
		errs = append(errs, state.Garden(path)...)
	}
	if shoot != nil {
		shoot.Loaded = true
	}
	return errs
}

// Run starts the writes.
func (l *Load) Run(ctx context.Context, env *Environment) error { return env.Shoots.Load(ctx, *l) }

// WritesPerSecond is the rate that a load is asked for; 0 for every other step.
func (s *Spec) WritesPerSecond() int {
	if s.Load == nil {
		return 0
	}
	return s.Load.WritesPerSecond
}

// KeepsAddress says that a load has a reader beside it that stays at one address.
func (s *Spec) KeepsAddress() bool { return s.Load != nil && s.Load.KeepAddress }
