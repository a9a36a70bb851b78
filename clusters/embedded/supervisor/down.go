package supervisor

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/ready"
)

const (
	// downGrace is longer than an orderly stop takes; killGrace is what the kernel needs to take processes away.
	downGrace = 40 * time.Second
	killGrace = 10 * time.Second
	downPoll  = 20 * time.Millisecond
)

// Down ends a landscape, whoever supervises it, and removes its run directory. It says whether there was anything to
// end or remove. An owner that does not end when it is asked is killed, and everything of the landscape with it.
func Down(ctx context.Context, dir rundir.Dir) (bool, error) { return down(ctx, dir, downGrace) }

func down(ctx context.Context, dir rundir.Dir, grace time.Duration) (bool, error) {
	lock, was, err := end(ctx, dir, grace)
	if err != nil {
		return was, err
	}
	cleared, err := dir.Clear()
	return was || cleared, errors.Join(err, lock.Unlock())
}

// End ends a landscape as Down does, and leaves its run directory to the caller, who owns the lock then.
func End(ctx context.Context, dir rundir.Dir) (*rundir.Lock, error) {
	lock, _, err := end(ctx, dir, downGrace)
	return lock, err
}

func end(ctx context.Context, dir rundir.Dir, grace time.Duration) (lock *rundir.Lock, was bool, err error) {
	if was, err = dir.Owned(); err != nil {
		return nil, false, err
	}
	if was {
		if err := endOwner(ctx, dir, grace); err != nil {
			return nil, true, fmt.Errorf("end the landscape %q: %w", dir.Name, err)
		}
	}
	lock, err = dir.TakeLock()
	return lock, was, err
}

func endOwner(ctx context.Context, dir rundir.Dir, grace time.Duration) error {
	owner, err := dir.Owner()
	if err != nil {
		return err
	}
	if owner == process.Self() {
		return errors.New("the landscape belongs to this very process")
	}
	if err := owner.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if awaitFree(ctx, dir, grace) == nil {
		return nil
	}
	if err := owner.Kill(killGrace); err != nil {
		return err
	}
	return awaitFree(context.WithoutCancel(ctx), dir, killGrace)
}

func awaitFree(ctx context.Context, dir rundir.Dir, within time.Duration) error {
	return ready.Await(ctx, downPoll, within, func(context.Context) error {
		owned, err := dir.Owned()
		if err == nil && owned {
			return errors.New("its owner runs")
		}
		return ready.Never(err)
	})
}
