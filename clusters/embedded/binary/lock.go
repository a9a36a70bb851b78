package binary

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPoll is how often a waiting builder looks whether the other has finished.
const lockPoll = 200 * time.Millisecond

// lock makes the cache folder and takes the lock of this binary. The kernel gives it back when the holder dies.
func lock(ctx context.Context, path string, progress Progress) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder: %w", err)
	}
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the control-plane binary: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() {
				_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) // a child being forked has the file open too
				_ = file.Close()
			}, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("lock the control-plane binary %q: %w", path, err)
		}
		progress(0, 0, "waiting for another build of the same binary")
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("wait for another build of the control-plane binary: %w", ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}
