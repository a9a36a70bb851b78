// Package dryrun is what is known of a scenario's landscape at a step without running the scenario: enough to refuse
// what cannot happen there. What a step asks of the state, and does to it, the step itself says.
package dryrun

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// State is what is known before a step without running the scenario: enough to refuse what cannot happen there.
type State struct {
	Landscape landscape.Landscape
	Shoots    map[string]*Shoot
	// Faults are those injected so far, by name; true once healed.
	Faults map[string]bool
	// Unsure says that there are steps, or parts of the landscape, of which nobody knows what they do to the state: then
	// nothing is refused for what is there or not at a step.
	Unsure bool
	// Outside says that a control plane runs outside any seed, or did before.
	Outside bool

	begun       []begun
	outages     []outage
	killed      []killed
	ineffective []ineffective
}

// Shoot is what is known of a shoot.
type Shoot struct {
	Exists bool
	// Leaving is in deletion, or gone.
	Leaving bool
	Asleep  bool
	Loaded  bool
	// Outside says that its control plane was restored outside any seed, Handed that it was to be handed over since.
	Outside, Handed bool
	// Seed is where it was last bound by a step; empty when that is not known.
	Seed string
}

// New is the state before the first step. Shoots that are created later are not there yet.
func New(l landscape.Landscape, later map[string]bool) *State {
	s := &State{Landscape: l, Shoots: map[string]*Shoot{}, Faults: map[string]bool{}}
	for _, shoot := range l.Shoots {
		s.Shoots[shoot.Name] = &Shoot{Exists: true, Asleep: shoot.Hibernated, Seed: shoot.Seed}
	}
	for name := range later {
		if shoot, known := s.Shoots[name]; known {
			shoot.Exists = false
		}
	}
	return s
}

// ForgetSeeds forgets where the shoots are: from here on the landscape may evacuate them by itself.
func (s *State) ForgetSeeds() {
	for _, shoot := range s.Shoots {
		shoot.Seed = ""
	}
}

// Bind notes that a step has bound a shoot to a seed. While a fault stands, the landscape may evacuate it from there.
func (s *State) Bind(shoot *Shoot, to string) {
	shoot.Seed = to
	for _, healed := range s.Faults {
		if !healed {
			shoot.Seed = ""
		}
	}
}

// Exists is what most steps ask of a shoot.
func Exists(shoot *Shoot) bool { return shoot.Exists }

// Awake asks for its API server, too.
func Awake(shoot *Shoot) bool { return shoot.Exists && !shoot.Asleep }

// answers is Awake; one in deletion is until it is gone.
func answers(shoot *Shoot) bool { return shoot.Leaving || Awake(shoot) }

// NoSuch refuses the name of a shoot that the landscape does not have. It lists those that would fit here.
func (s *State) NoSuch(path *field.Path, name string, fits func(*Shoot) bool) *field.Error {
	names := s.Landscape.ShootNames()
	return NoneOf(path, name, slices.DeleteFunc(names, func(known string) bool {
		return !s.Unsure && !fits(s.Shoots[known])
	}))
}

// NoneOf refuses a name that is none of these.
func NoneOf(path *field.Path, name string, fitting []string) *field.Error {
	if len(fitting) == 0 {
		return field.Invalid(path, name, "does not exist, and no other name fits at this step: "+
			"add one to the landscape, or leave the step out")
	}
	return field.NotSupported(path, name, fitting)
}

// Shoot finds a shoot that must exist at this place; none if the state is unsure. Where it is not known, those are
// listed that fit.
func (s *State) Shoot(path *field.Path, name string, fits func(*Shoot) bool) (*Shoot, field.ErrorList) {
	shoot, known := s.Shoots[name]
	switch {
	case !known:
		return nil, field.ErrorList{s.NoSuch(path, name, fits)}
	case s.Unsure:
		return nil, nil
	case !shoot.Exists:
		return nil, field.ErrorList{field.Invalid(path, name,
			"does not exist at this step: create it before, or leave its create step out")}
	}
	return shoot, nil
}

// Reachable finds a shoot whose API server may answer at this place: one in deletion is awake until it is gone.
func (s *State) Reachable(path *field.Path, name string) field.ErrorList {
	if shoot, known := s.Shoots[name]; known && shoot.Leaving {
		return nil
	}
	shoot, errs := s.Shoot(path, name, answers)
	if shoot != nil && shoot.Asleep {
		errs = append(errs, field.Invalid(path, name, "is hibernated at this step: wake it before"))
	}
	return errs
}
