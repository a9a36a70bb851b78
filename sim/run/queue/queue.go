// Package queue hands scenarios out to workers so that few landscapes have to be made: those that need the same
// landscape follow each other on one. It runs nothing.
package queue

import (
	"slices"
	"sync"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// Group of scenarios that can share a landscape.
type Group struct {
	// Needs is the landscape, without shoots: each scenario brings its own.
	Needs     landscape.Landscape
	scenarios []*scenario.Scenario // those that have not started
	begun     bool
}

// Queue of the scenarios that have not started. Workers may use it concurrently.
type Queue struct {
	mu     sync.Mutex
	groups []*Group
}

// Join returns the group to run next: the first that no worker has begun, or else the one with most scenarios left. It
// is nil when no scenario is left.
func (q *Queue) Join() *Group {
	q.mu.Lock()
	defer q.mu.Unlock()
	var most *Group
	for _, g := range q.groups {
		if !g.begun {
			g.begun = true
			return g
		}
		if most == nil || len(g.scenarios) > len(most.scenarios) {
			most = g
		}
	}
	if most == nil || len(most.scenarios) == 0 {
		return nil
	}
	return most
}

// Next takes a scenario out of a group. It is nil if the group has none left.
func (q *Queue) Next(g *Group) *scenario.Scenario {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(g.scenarios) == 0 {
		return nil
	}
	s := g.scenarios[0]
	g.scenarios = g.scenarios[1:]
	return s
}

// IsEmpty is true when no scenario is left to run.
func (q *Queue) IsEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !slices.ContainsFunc(q.groups, func(g *Group) bool { return len(g.scenarios) > 0 })
}

// New puts together what can share a landscape, in the order of the files: scenarios with the same settings, seeds
// and whitelist. The seeds must be the same, because one more seed is one more place to evacuate to. Seeds that are
// shoots are not where they began after a run, and nodes that run pods have addresses of their landscape.
func New(scenarios []*scenario.Scenario) *Queue {
	var groups []*Group
	for _, s := range scenarios {
		other := s.Spec.Landscape
		at := slices.IndexFunc(groups, func(g *Group) bool {
			one := g.Needs
			return len(one.HostedSeeds()) == 0 && len(one.RealNodes())+len(other.RealNodes()) == 0 &&
				one.Settings == other.Settings && one.Garden.Equal(other.Garden) &&
				slices.EqualFunc(one.Seeds, other.Seeds, landscape.Seed.Equal) &&
				slices.Equal(one.Tolerable, other.Tolerable)
		})
		if at < 0 {
			needs := other
			// Each scenario brings its own, but for those that have a part of the landscape's addresses.
			needs.Shoots = slices.DeleteFunc(slices.Clone(other.Shoots), func(shoot landscape.Shoot) bool {
				return shoot.Nodes != landscape.RealNodes
			})
			groups = append(groups, &Group{Needs: needs})
			at = len(groups) - 1
		}
		groups[at].scenarios = append(groups[at].scenarios, s)
	}
	return &Queue{groups: groups}
}
