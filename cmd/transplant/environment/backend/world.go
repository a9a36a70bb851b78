package backend

import (
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/harm"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/observe"
	"github.com/transplant-sim/transplant/sim/world"
)

// World is a landscape as a run uses it.
type World struct {
	*observe.Observer
	*harm.Injector
	able func(world.Ability) error
}

var (
	_ world.World        = &World{}
	_ world.PodOwners    = &World{}
	_ world.BackupReader = &World{}
	_ world.Meter        = &World{}
	_ world.Hosting      = &World{}
)

// NewWorld looks at a landscape that is ready; able is what its backend can do.
func NewWorld(l environment.Landscape, s *environment.Environment, able func(world.Ability) error) (*World, error) {
	observer, err := observe.New(l, s)
	if err != nil {
		return nil, err
	}
	return &World{Observer: observer, Injector: harm.New(observer), able: able}, nil
}

// Able implements world.Breaker.
func (w *World) Able(ability world.Ability) error { return w.able(ability) }
