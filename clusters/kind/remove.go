package kind

import (
	"context"
	"errors"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

// Remove removes what a landscape has in Docker, and nothing of any other, and says how many containers it has removed.
// It is for those who own the run directory.
func Remove(ctx context.Context, dir rundir.Dir) (int, error) {
	left, err := docker.Containers(ctx, prefix(dir.Path, dir.Name))
	if err != nil {
		return 0, err
	}
	return len(left), docker.Remove(ctx, left...)
}

// removeLeft is Remove for what a dead process has left. Where there was something, more may come: what that process
// has asked Docker to make.
func removeLeft(ctx context.Context, dir rundir.Dir) (removed int, err error) {
	for {
		found, err := Remove(ctx, dir)
		removed += found
		if found == 0 || err != nil {
			return removed, err
		}
		select {
		case <-ctx.Done():
			return removed, ctx.Err()
		case <-time.After(lateAfter):
		}
	}
}

// lateAfter is how long after the others a container may come that nobody waits for any more.
const lateAfter = time.Second

// Down removes what is left of a landscape whose owner is dead, and says how many containers that were. Without Docker
// nothing can be left. While the owner lives it is rundir.ErrInUse.
func Down(ctx context.Context, dir rundir.Dir) (int, error) {
	if err := docker.Available(ctx); errors.Is(err, docker.ErrUnavailable) {
		return 0, nil
	}
	lock, err := dir.TakeLock()
	if err != nil {
		return 0, err
	}
	removed, err := removeLeft(ctx, dir)
	return removed, errors.Join(err, lock.Unlock())
}
