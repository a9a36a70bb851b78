package engine

import (
	"maps"
	"sync"

	"github.com/transplant-sim/transplant/sim/probe/load"
)

// registry is what the run knows of its shoots, by their names.
type registry struct {
	mu     sync.Mutex
	shoots map[string]entry
}

// entry is of one shoot.
type entry struct {
	keys   *load.Keys // of the loads
	id     string     // the technical id
	on     bool       // it was set up, and is not dismissed yet
	looked bool       // its objects were seen since the last step that changes something
}

func (r *registry) all() map[string]entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.shoots)
}

func (r *registry) change(shoot string, by func(*entry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.shoots[shoot]
	by(&e)
	r.shoots[shoot] = e
}
