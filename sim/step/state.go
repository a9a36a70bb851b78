package step

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// State is what is known before a step without running the scenario: enough to refuse what cannot happen there.
type State struct {
	Landscape landscape.Landscape
	Shoots    map[string]*ShootState
	// Faults are those injected so far, by name; true once healed.
	Faults map[string]bool

	begun       []begun
	outages     []outage
	killed      []killed
	ineffective []ineffective
}

// ShootState is what is known of a shoot.
type ShootState struct {
	Exists bool
	// Leaving is in deletion, or gone.
	Leaving bool
	Asleep  bool
	Loaded  bool
	// Seed is where it was last bound by a step; empty when that is not known.
	Seed string
}

// NewState is the state before the first step.
func NewState(l landscape.Landscape, steps []Spec) *State {
	s := &State{Landscape: l, Shoots: map[string]*ShootState{}, Faults: map[string]bool{}}
	for _, shoot := range l.Shoots {
		s.Shoots[shoot.Name] = &ShootState{Exists: true, Asleep: shoot.Hibernated, Seed: shoot.Seed}
	}
	for name := range Later(steps) {
		if shoot, known := s.Shoots[name]; known {
			shoot.Exists = false
		}
	}
	return s
}

// forgetSeeds forgets where the shoots are: from here on the landscape may evacuate them by itself.
func (s *State) forgetSeeds() {
	for _, shoot := range s.Shoots {
		shoot.Seed = ""
	}
}

// Later are the shoots that a step creates, so that they are not there before it.
func Later(steps []Spec) map[string]bool {
	later, deleted := map[string]bool{}, map[string]bool{}
	for i := range steps {
		if d := steps[i].Delete; d != nil && !d.Refused {
			deleted[d.Shoot] = true
		}
		if c := steps[i].Create; c != nil && !deleted[c.Shoot] {
			later[c.Shoot] = true
		}
	}
	return later
}

// exists is what most steps ask of a shoot.
func exists(shoot *ShootState) bool { return shoot.Exists }

// awake asks for its API server, too.
func awake(shoot *ShootState) bool { return shoot.Exists && !shoot.Asleep }

// answers is awake; one in deletion is until it is gone.
func answers(shoot *ShootState) bool { return shoot.Leaving || awake(shoot) }

// noSuch refuses the name of a shoot that the landscape does not have. It lists those that would fit here.
func (s *State) noSuch(path *field.Path, name string, fits func(*ShootState) bool) *field.Error {
	names := s.Landscape.ShootNames()
	return noneOf(path, name, slices.DeleteFunc(names, func(known string) bool { return !fits(s.Shoots[known]) }))
}

// noneOf refuses a name that is none of these.
func noneOf(path *field.Path, name string, fitting []string) *field.Error {
	if len(fitting) == 0 {
		return field.Invalid(path, name, "does not exist, and no other name fits at this step: "+
			"add one to the landscape, or leave the step out")
	}
	return field.NotSupported(path, name, fitting)
}

// shoot finds a shoot that must exist at this place. Where it is not known, those are listed that fit.
func (s *State) shoot(path *field.Path, name string, fits func(*ShootState) bool) (*ShootState, field.ErrorList) {
	shoot, known := s.Shoots[name]
	switch {
	case !known:
		return nil, field.ErrorList{s.noSuch(path, name, fits)}
	case !shoot.Exists:
		return nil, field.ErrorList{field.Invalid(path, name,
			"does not exist at this step: create it before, or leave its create step out")}
	}
	return shoot, nil
}

// reachable finds a shoot whose API server may answer at this place: one in deletion is awake until it is gone.
func (s *State) reachable(path *field.Path, name string) field.ErrorList {
	if shoot, known := s.Shoots[name]; known && shoot.Leaving {
		return nil
	}
	shoot, errs := s.shoot(path, name, answers)
	if shoot != nil && shoot.Asleep {
		errs = append(errs, field.Invalid(path, name, "is hibernated at this step: wake it before"))
	}
	return errs
}
