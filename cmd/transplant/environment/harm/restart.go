package harm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/sim/world"
)

// successorPoll is the time between two looks for processes that have been started again. It is shorter than a program
// of ours takes to reach any API.
const successorPoll = 20 * time.Millisecond

// KillFor implements world.Breaker: whatever replaces the killed processes is frozen before it does anything.
func (i *Injector) KillFor(ctx context.Context, wanted world.Process, delay time.Duration) (world.Injection, error) {
	if wanted.Cluster != "" {
		return world.Injection{}, fmt.Errorf("kill %+v for %s: a program of a cluster stays dead until it is revived", wanted,
			delay)
	}
	all, err := i.findersFor(wanted)
	if err != nil {
		return world.Injection{}, err
	}
	d, err := keepDown(ctx, all, delay)
	if err != nil {
		return world.Injection{}, fmt.Errorf("kill %+v for %s: %w", wanted, delay, err)
	}
	heal := func(ctx context.Context) error {
		err := d.end()
		return errors.Join(err, awaitOthers(ctx, d.victims, wanted, all.find))
	}
	return world.Injection{Heal: heal, Hits: func() int { return len(d.victims) }}, nil
}

// down keeps processes down.
type down struct {
	victims []process.Program
	finders finders
	cancel  context.CancelFunc
	done    chan struct{}

	mu     sync.Mutex
	frozen []process.Program
	err    error
}

// keepDown kills what there is, and freezes what there is afterwards, until the delay is over or end is called.
func keepDown(ctx context.Context, all finders, delay time.Duration) (*down, error) {
	victims, err := all.find(ctx)
	if err != nil {
		return nil, err
	}
	if len(victims) == 0 {
		return nil, errors.New("no such process runs")
	}
	if err := signalAll(victims, syscall.SIGKILL); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), delay)
	d := &down{victims: victims, finders: all, cancel: cancel, done: make(chan struct{})}
	go d.watch(ctx)
	return d, nil
}

// watch every place by itself: one that does not answer must not keep the others from being looked at.
func (d *down) watch(ctx context.Context) {
	defer close(d.done)
	var all sync.WaitGroup
	for _, one := range d.finders {
		all.Go(func() { d.follow(ctx, one) })
	}
	all.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = signalAll(d.frozen, syscall.SIGCONT)
}

func (d *down) follow(ctx context.Context, one finder) {
	ticker := time.NewTicker(successorPoll)
	defer ticker.Stop()
	for ctx.Err() == nil {
		d.freeze(ctx, one)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// freeze stops the successors there are. A place that cannot be read now is read again.
func (d *down) freeze(ctx context.Context, one finder) {
	found, err := one(ctx)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, next := range found {
		if isOneOf(d.victims, next) || isOneOf(d.frozen, next) || next.Signal(syscall.SIGSTOP) != nil {
			continue
		}
		d.frozen = append(d.frozen, next)
	}
}

func isOneOf(all []process.Program, one process.Program) bool {
	return slices.ContainsFunc(all, func(other process.Program) bool { return other.ID == one.ID })
}

// end continues the successors.
func (d *down) end() error {
	d.cancel()
	<-d.done
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}
