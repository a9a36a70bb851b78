package run

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// hold the folder of a run, so that no other run writes into it, until it is released. What is locked is the timeline.
func hold(folder string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for the evidence: %w", err)
	}
	lock := flock.New(filepath.Join(folder, timeline.FileName))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the folder for the evidence: %w", err)
	}
	if !held {
		return nil, fmt.Errorf("another run writes its evidence to %s: wait for it, or give this one another folder with --out", folder)
	}
	return func() { _ = lock.Close() }, nil // the lock ends with the process at the latest
}

// goesOnError says that a run has not ended.
type goesOnError struct{ folder string }

func (e *goesOnError) Error() string {
	return fmt.Sprintf("the run in %s still goes on: judge it when it has ended; until then `transplant report --serve` shows it", e.folder)
}

// hasEnded makes sure that the run in a folder has ended, and that no other begins there until it is released.
func hasEnded(folder string) (release func(), err error) {
	lock := flock.New(filepath.Join(folder, timeline.FileName), flock.SetFlag(os.O_RDONLY)) // which must be there
	held, err := lock.TryRLock()
	if err != nil {
		return nil, fmt.Errorf("see whether the run has ended: %w", err)
	}
	if !held {
		return nil, &goesOnError{folder}
	}
	return func() { _ = lock.Close() }, nil // the lock ends with the process at the latest
}
