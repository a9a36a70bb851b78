package stage

import (
	"errors"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

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
