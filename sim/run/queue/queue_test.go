package queue

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

func TestQueue_MakesFewLandscapes(t *testing.T) {
	t.Parallel()
	of := func(seeds string, names ...string) *Group {
		g := &Group{Needs: landscape.Landscape{Seeds: []landscape.Seed{{Name: seeds}}}}
		for _, name := range names {
			s := &scenario.Scenario{}
			s.Metadata.Name = name
			g.scenarios = append(g.scenarios, s)
		}
		return g
	}
	q := &Queue{groups: []*Group{of("one", "1", "2", "3", "4"), of("two", "5"), of("three", "6", "7")}}
	var taken []string
	take := func(worker string, g *Group, times int) {
		for range times {
			taken = append(taken, worker+g.Needs.Seeds[0].Name+" "+q.Next(g).Metadata.Name)
		}
	}
	left, right := q.Join(), q.Join()
	take("left ", left, 1)
	take("right ", right, 1)
	if q.Next(right) != nil {
		t.Error("a scenario was handed out twice")
	}
	right = q.Join()
	take("right ", right, 2)
	right = q.Join() // helps with the rest of the first
	take("left ", left, 1)
	take("right ", right, 1)
	if q.IsEmpty() {
		t.Error("the queue is empty, but one scenario is left")
	}
	take("left ", left, 1)
	want := []string{"left one 1", "right two 5", "right three 6", "right three 7", "left one 2", "right one 3",
		"left one 4"}
	if diff := cmp.Diff(want, taken); diff != "" {
		t.Errorf("handed out (-want +got):\n%s", diff)
	}
	if q.Next(right) != nil || q.Join() != nil || !q.IsEmpty() {
		t.Error("something is left")
	}
}
