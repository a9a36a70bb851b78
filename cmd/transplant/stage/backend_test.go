package stage

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// A scenario may have as many seeds as a landscape has addresses for, and no more.
func TestAsManySeedsAsFit(t *testing.T) {
	t.Parallel()
	for n := 1; n < 12; n++ {
		var seeds []string
		for i := range n {
			seeds = append(seeds, fmt.Sprintf("s%d", i))
		}
		story := fmt.Sprintf(`
apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: many}
spec:
  why: to count
  landscape: {seeds: [{name: %s}]}
  steps: [{wait: {for: 1s, because: of nothing}}]
`, strings.Join(seeds, "}, {name: "))
		_, refused := scenario.Parse("f", []byte(story))
		if unfit := (&embedded.Options{Seeds: seeds}).Check(); (refused == nil) != (unfit == nil) {
			t.Errorf("%d seeds: validate says %v, the landscape %v", n, refused, unfit)
		}
	}
}

// A landscape is free until somebody has it, and again afterwards; a name that no landscape can have is refused.
func TestFree(t *testing.T) {
	home := t.TempDir()
	t.Setenv(rundir.HomeVariable, home)
	if err := (Backend{}).Free("run"); err != nil {
		t.Errorf("nobody has it: %v", err)
	}
	dir, err := rundir.Of(home, "run")
	if err != nil {
		t.Fatal(err)
	}
	lock, _, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := (Backend{}).Free("run"); !errors.Is(err, rundir.ErrInUse) {
		t.Errorf("somebody has it: %v", err)
	}
	if err := (&KindBackend{}).Free("run"); !errors.Is(err, rundir.ErrInUse) {
		t.Errorf("somebody has it, whatever on: %v", err)
	}
	if err := (Backend{}).Free("run-2"); err != nil {
		t.Errorf("nobody has the other: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := (Backend{}).Free("run"); err != nil {
		t.Errorf("nobody has it any more: %v", err)
	}
	if err := (Backend{}).Free("a/b"); err == nil {
		t.Error("a landscape may be called a/b")
	}
}
