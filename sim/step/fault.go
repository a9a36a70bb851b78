package step

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// Inject begins a fault, or lets it wait for its moment. It ends with its heal step, or with the run.
type Inject struct {
	fault.Spec `json:",inline"`
	// When the fault begins; at this step when not given.
	When *When `json:"when,omitempty"`
}

var _ Step = &Inject{}

// Subject is the name of the fault.
func (i *Inject) Subject() string { return i.Name }

func (i *Inject) String() string {
	_, f := i.Fault()
	switch {
	case f == nil:
		return "fault " + i.Name
	case i.When != nil && i.When.Request != nil:
		return fmt.Sprintf("fault %s: %s, at %s", i.Name, f.Name(), i.When)
	case i.When != nil:
		return fmt.Sprintf("fault %s: %s, when %s", i.Name, f.Name(), i.When)
	}
	return fmt.Sprintf("fault %s: %s", i.Name, f.Name())
}

// Turn says at which of the requests that it selects the fault begins, and can be changed. It is nil if the fault
// begins at no request: it is no crash, and no when.request is given.
func (i *Inject) Turn() *requests.Turn {
	switch {
	case i.Crash != nil:
		return &i.Crash.Turn
	case i.When != nil && i.When.Request != nil:
		return &i.When.Request.Turn
	}
	return nil
}

// Check wants a name of its own and one possible fault, of what is there at this step.
func (i *Inject) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	errs := i.Spec.Check(path, state.Landscape)
	if i.When != nil {
		errs = append(errs, i.When.Check(path.Child("when"), state)...)
	}
	if i.Name == "" {
		return append(errs, field.Required(path.Child("name"), "a fault needs a name, by which it is healed and reported"))
	}
	if _, taken := state.Faults[i.Name]; taken {
		twice := field.Duplicate(path.Child("name"), i.Name)
		twice.Detail = "an earlier fault has this name; give this one another"
		errs = append(errs, twice)
	}
	if len(errs) == 0 { // else findings about clusters and actors are mere consequences
		if kind, f := i.Fault(); f != nil && i.When == nil { // else it may begin when the cluster is back
			errs = state.Inject(path.Child(kind), i.Name, f)
		}
	}
	state.Faults[i.Name] = false
	state.ForgetSeeds()
	return errs
}

// Run injects the fault, or lets it wait.
func (i *Inject) Run(ctx context.Context, env *Environment) error {
	_, f := i.Fault()
	if i.When != nil {
		return env.Faults.Await(ctx, i.Name, f, i.When.trigger(env))
	}
	return env.Faults.Inject(ctx, i.Name, f)
}

// Heal ends the fault of this name.
type Heal string

var _ Step = new(Heal)

// Subject is the name of the fault.
func (h *Heal) Subject() string { return string(*h) }

func (h *Heal) String() string { return "heal " + string(*h) }

// Check wants a fault that was injected and not healed.
func (h *Heal) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	healed, known := state.Faults[string(*h)]
	switch {
	case state.Unsure:
		return nil
	case len(state.Faults) == 0:
		return field.ErrorList{field.Invalid(path, string(*h), "no fault stands before this step: there is nothing to heal")}
	case !known:
		var names []string
		for name, healed := range state.Faults {
			if !healed {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return field.ErrorList{dryrun.NoneOf(path, string(*h), names)}
	case healed:
		return field.ErrorList{field.Invalid(path, string(*h), "is healed already at this step")}
	}
	state.Faults[string(*h)] = true
	return state.Heal(path, string(*h))
}

// Run heals the fault.
func (h *Heal) Run(ctx context.Context, env *Environment) error {
	return env.Faults.Heal(ctx, string(*h))
}
