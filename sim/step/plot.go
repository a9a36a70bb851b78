package step

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// Plot is what is known of a story at one place of it, without telling it: enough to refuse what cannot happen there.
type Plot struct {
	Landscape landscape.Landscape
	Shoots    map[string]*Role
	// Faults are those injected so far, by name; true once healed.
	Faults map[string]bool

	begun   []begun
	downs   []down
	killed  []killed
	unheard []unheard
}

// Role is what the plot knows of a shoot.
type Role struct {
	Exists bool
	// Leaving is in deletion, or gone.
	Leaving bool
	Asleep  bool
	Loaded  bool
	// Seed is where it was last bound by a step; empty when that is not known.
	Seed string
}

// NewPlot is the plot before the first step.
func NewPlot(l landscape.Landscape, steps []Spec) *Plot {
	p := &Plot{Landscape: l, Shoots: map[string]*Role{}, Faults: map[string]bool{}}
	for _, shoot := range l.Shoots {
		p.Shoots[shoot.Name] = &Role{Exists: true, Asleep: shoot.Hibernated, Seed: shoot.Seed}
	}
	for name := range Later(steps) {
		if role, known := p.Shoots[name]; known {
			role.Exists = false
		}
	}
	return p
}

// strew forgets where the shoots are: from here on the landscape may evacuate them by itself.
func (p *Plot) strew() {
	for _, role := range p.Shoots {
		role.Seed = ""
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
func exists(role *Role) bool { return role.Exists }

// awake asks for its API server, too.
func awake(role *Role) bool { return role.Exists && !role.Asleep }

// answers is awake; one in deletion is until it is gone.
func answers(role *Role) bool { return role.Leaving || awake(role) }

// noSuch refuses the name of a shoot that the landscape does not have. It lists those that would fit here.
func (p *Plot) noSuch(path *field.Path, name string, fits func(*Role) bool) *field.Error {
	names := p.Landscape.ShootNames()
	return noneOf(path, name, slices.DeleteFunc(names, func(known string) bool { return !fits(p.Shoots[known]) }))
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
func (p *Plot) shoot(path *field.Path, name string, fits func(*Role) bool) (*Role, field.ErrorList) {
	role, known := p.Shoots[name]
	switch {
	case !known:
		return nil, field.ErrorList{p.noSuch(path, name, fits)}
	case !role.Exists:
		return nil, field.ErrorList{field.Invalid(path, name,
			"does not exist at this step: create it before, or leave its create step out")}
	}
	return role, nil
}

// reachable finds a shoot whose API server may answer at this place: one in deletion is awake until it is gone.
func (p *Plot) reachable(path *field.Path, name string) field.ErrorList {
	if role, known := p.Shoots[name]; known && role.Leaving {
		return nil
	}
	role, errs := p.shoot(path, name, answers)
	if role != nil && role.Asleep {
		errs = append(errs, field.Invalid(path, name, "is hibernated at this step: wake it before"))
	}
	return errs
}
