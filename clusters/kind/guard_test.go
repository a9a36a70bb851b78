package kind

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Whoever takes the folder of a landscape whose process has died ends its guard, which would remove the containers of
// the next landscape in the same folder.
func TestTheGuardEndsWithItsFolder(t *testing.T) {
	t.Parallel()
	dir := rundir.At("guarded", filepath.Join(t.TempDir(), "guarded"))
	lock, _, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Unlock() }) // the test is over
	l := &Landscape{dir: dir, companions: companions{dir: dir}}
	if err := l.watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.guard.command.Wait() }()
	if _, err := dir.Clear(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil || err.Error() != "signal: killed" {
			t.Errorf("the guard ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the guard is still there")
		_, _ = io.WriteString(l.guard.pipe, "done\n") // dismiss it
	}
}
