package run

import (
	"slices"
	"sync"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// group of scenarios that can share a landscape.
type group struct {
	needs     landscape.Landscape
	scenarios []*scenario.Scenario // those that have not started
	begun     bool
}

// queue hands scenarios out to workers so that few landscapes have to be made. Workers may use it concurrently.
type queue struct {
	mu     sync.Mutex
	groups []*group
}

// join returns the group to run next: the first that no worker has begun, or else the one with most scenarios left. It
// is nil when no scenario is left.
func (q *queue) join() *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	var most *group
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

// next takes a scenario out of a group. It is nil if the group has none left.
func (q *queue) next(g *group) *scenario.Scenario {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(g.scenarios) == 0 {
		return nil
	}
	s := g.scenarios[0]
	g.scenarios = g.scenarios[1:]
	return s
}

// isEmpty is true when no scenario is left to run.
func (q *queue) isEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !slices.ContainsFunc(q.groups, func(g *group) bool { return len(g.scenarios) > 0 })
}

// grouped puts together what can share a landscape, in the order of the files: scenarios with the same settings, seeds
// and whitelist. The seeds must be the same, because one more seed is one more place to evacuate to.
func grouped(scenarios []*scenario.Scenario) []*group {
	var groups []*group
	for _, s := range scenarios {
		other := s.Spec.Landscape
		at := slices.IndexFunc(groups, func(g *group) bool {
			one := g.needs
			return one.Settings == other.Settings && slices.EqualFunc(one.Seeds, other.Seeds, landscape.Seed.Equal) &&
				slices.Equal(one.Tolerable, other.Tolerable)
		})
		if at < 0 {
			needs := other
			needs.Shoots = nil // each scenario brings its own
			groups = append(groups, &group{needs: needs})
			at = len(groups) - 1
		}
		groups[at].scenarios = append(groups[at].scenarios, s)
	}
	return groups
}
