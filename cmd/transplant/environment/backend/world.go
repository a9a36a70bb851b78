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
}

var (
	_ world.World          = &World{}
	_ world.PodOwners      = &World{}
	_ world.LogKeeper      = &World{}
	_ world.PodActors      = &World{}
	_ world.PodDialer      = &World{}
	_ world.BackupReader   = &World{}
	_ world.Inventory      = &World{}
	_ world.Readiness      = &World{}
	_ world.Meter          = &World{}
	_ world.LinkBreaker    = &World{}
	_ world.ProcessBreaker = &World{}
	_ world.RestartDelayer = &World{}
	_ world.DiskWiper      = &World{}
	_ world.ClusterBreaker = &World{}
	_ world.PodBreaker     = &World{}
	_ world.CloudBreaker   = &World{}
	_ world.BackupBreaker  = &World{}
	_ world.Refresher      = &World{}
)

// NewWorld looks at a landscape that is ready.
func NewWorld(l environment.Landscape, s *environment.Environment) (*World, error) {
	observer, err := observe.New(l, s)
	if err != nil {
		return nil, err
	}
	return &World{Observer: observer, Injector: harm.New(observer)}, nil
}
