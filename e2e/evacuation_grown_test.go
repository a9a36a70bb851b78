package e2e

import (
	"testing"

	"github.com/transplant-sim/transplant/sim/scenario"
)

// What the benchmark tells is a story without mistakes, with as many shoots as it says, and what the short one promises.
func TestTheStoryGrows(t *testing.T) {
	t.Parallel()
	const file = "../scenarios/evacuate-many.yaml"
	short, err := scenario.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	long, err := scenario.ParseFile(grown(t, file, 20))
	if err != nil {
		t.Fatal(err)
	}
	l := long.Spec.Landscape
	if len(l.Shoots) != 20 || l.Settings != short.Spec.Landscape.Settings || len(long.Spec.Always) != len(short.Spec.Always) || long.Spec.Measure.RestoresAtOnce == nil {
		t.Errorf("%d shoots, settings %+v, promises %v, goals %+v", len(l.Shoots), l.Settings, long.Spec.Always, long.Spec.Measure)
	}
	created, loaded, expected := 0, 0, 0
	for _, one := range long.Spec.Steps {
		switch {
		case one.Create != nil:
			created++
		case one.Load != nil:
			loaded++
		case one.Expect != nil:
			expected++
		}
	}
	if created != 20 || loaded != 20 || expected != 20 {
		t.Errorf("%d shoots are created, %d written to, %d expected back", created, loaded, expected)
	}
}
