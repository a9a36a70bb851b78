package run

import (
	"slices"
	"sync"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// group of stories that can share a landscape.
type group struct {
	needs   landscape.Landscape
	stories []*scenario.Scenario // left to tell
	begun   bool
}

// queue hands stories out to lanes so that few landscapes have to be made. It is safe for use by several.
type queue struct {
	mu     sync.Mutex
	groups []*group
}

// join gives the group to tell next: the first that nobody tells, or else the one with most stories left. It is nil
// when nothing is left to tell.
func (q *queue) join() *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	var most *group
	for _, g := range q.groups {
		if !g.begun {
			g.begun = true
			return g
		}
		if most == nil || len(g.stories) > len(most.stories) {
			most = g
		}
	}
	if most == nil || len(most.stories) == 0 {
		return nil
	}
	return most
}

// next story of a group, which nobody else gets, or nil. What is left when it is too late stays.
func (q *queue) next(g *group) *scenario.Scenario {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(g.stories) == 0 {
		return nil
	}
	s := g.stories[0]
	g.stories = g.stories[1:]
	return s
}

// told is true when no story is left that anybody will tell.
func (q *queue) told() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !slices.ContainsFunc(q.groups, func(g *group) bool { return len(g.stories) > 0 })
}

// grouped puts together what can share a landscape, in the order of the files: stories with the same settings, and with
// the same seeds and whitelist, because one more seed is one more place to evacuate to.
func grouped(stories []*scenario.Scenario) []*group {
	var groups []*group
	for _, s := range stories {
		other := s.Spec.Landscape
		at := slices.IndexFunc(groups, func(g *group) bool {
			one := g.needs
			return one.Settings == other.Settings && slices.EqualFunc(one.Seeds, other.Seeds, landscape.Seed.Equal) &&
				slices.Equal(one.Tolerable, other.Tolerable)
		})
		if at < 0 {
			needs := other
			needs.Shoots = nil // each story brings its own
			groups = append(groups, &group{needs: needs})
			at = len(groups) - 1
		}
		groups[at].stories = append(groups[at].stories, s)
	}
	return groups
}
