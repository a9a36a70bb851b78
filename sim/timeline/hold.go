package timeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/durable"
)

// A glance is how long those who only look whether a run goes on may have the lock that a run wants.
const (
	glance = time.Second
	again  = 10 * time.Millisecond
)

// Hold the folder of a run, so that no other run writes into it, until it is released. What is locked is the timeline.
func Hold(ctx context.Context, folder string) (release func(), err error) {
	if err := (durable.Disk{}).MakeFolder(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for the evidence: %w", err)
	}
	lock := flock.New(filepath.Join(folder, FileName))
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	held, err := lock.TryLockContext(ctx, again)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("lock the folder for the evidence: %w", err)
	}
	if !held {
		return nil, fmt.Errorf(
			"another run writes its evidence to %s: wait for it, or give this one another folder with --out", folder)
	}
	return func() { _ = lock.Close() }, nil // the lock ends with the process at the latest
}

// GoesOnError says that a run has not ended.
type GoesOnError struct{ Folder string }

func (e *GoesOnError) Error() string {
	return fmt.Sprintf("the run in %s still goes on: judge it when it has ended; until then `transplant report "+
		"--serve` shows it", e.Folder)
}

// HoldEnded makes sure that the run in a folder has ended, and that no other begins there until it is released.
func HoldEnded(folder string) (release func(), err error) {
	file := filepath.Join(folder, FileName)
	if err := userfile.Check(file); err != nil { // it must be there, and opening a named pipe would never end
		return nil, fmt.Errorf("see whether the run has ended: %w", err)
	}
	lock := flock.New(file, flock.SetFlag(os.O_RDONLY))
	held, err := lock.TryRLock()
	if err != nil {
		return nil, fmt.Errorf("see whether the run has ended: %w", err)
	}
	if !held {
		return nil, &GoesOnError{folder}
	}
	return func() { _ = lock.Close() }, nil // the lock ends with the process at the latest
}

// GoesOn says whether the process of the run in a folder is still there: its lock ends with it, however it ended.
func GoesOn(folder string) (bool, error) {
	release, err := HoldEnded(folder)
	if goesOn := (*GoesOnError)(nil); errors.As(err, &goesOn) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	release()
	return false, nil
}
