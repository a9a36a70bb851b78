package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/contract"
)

// embeddedBackend is the name of the backend that needs nothing but this machine.
const embeddedBackend = "embedded"

// onSeeds starts two seeds, does something there, and stops them.
func (o *options) onSeeds(ctx context.Context, e *environment.Environment, subjects []subject, out io.Writer,
	do func(context.Context, *kit) error) (err error) {
	began := time.Now()
	progress := func(format string, arguments ...any) {
		fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, arguments...))
	}
	dir, lock, err := claim()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if _, err := dir.Renew(); err != nil {
		return err
	}
	defer func() {
		_, cleared := dir.Clear()
		err = errors.Join(err, cleared)
	}()
	progress("starting two seeds with %s", e.Extensions[0].Name)
	l, err := o.start(ctx, e, dir, lock, progress)
	if err != nil {
		return errors.Join(err, e.CopyLogs(dir, filepath.Join(o.out, logsName)))
	}
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		kept := environment.KeepLogs(cleanup, l, filepath.Join(o.out, logsName))
		err = errors.Join(err, kept, l.Stop(cleanup))
	}()
	k := &kit{landscape: l, environment: e, multiplier: o.multiplier, progress: progress,
		quiet: quietTime * time.Duration(o.multiplier), settles: settleTime * time.Duration(o.multiplier)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := k.connect(ctx, subjects); err != nil {
		return err
	}
	progress("trying %d kinds", len(subjects))
	err = k.whileItBegins(ctx, o.undisturbed(k, subjects[0]), do)
	progress("done")
	return err
}

// start two seeds of the backend.
func (o *options) start(ctx context.Context, e *environment.Environment, dir rundir.Dir, lock *rundir.Lock,
	progress func(string, ...any)) (environment.Landscape, error) {
	seeds := []string{sourceName, destinationName}
	if o.backend == rundir.Kind {
		options := kind.Options{Name: dir.Name, Dir: dir.Path, Lock: lock, Seeds: seeds, NodeImage: o.nodeImage,
			MaxRestartBackoff: time.Second, // many crashes are tried
			Progress:          func(subject, what string) { progress("%s: %s", subject, what) }}
		if err := environment.ConfigureExtensionsAloneOnKind(ctx, e, &options); err != nil {
			return nil, err
		}
		return kind.Start(ctx, options)
	}
	options := embedded.Options{Name: dir.Name, Dir: dir.Path, Lock: lock, Seeds: seeds}
	e.ConfigureExtensionsAlone(&options)
	return embedded.Start(ctx, options)
}

// stopTimeout bounds the end of the seeds.
const stopTimeout = 2 * time.Minute

// undisturbed makes an object for a plan, which may have none that is to succeed. It is nil for a whole run.
func (o *options) undisturbed(k *kit, s subject) func(context.Context) error {
	if o.replayed == nil {
		return nil
	}
	return func(ctx context.Context) error {
		return k.newWalk(s, contract.Clean, "begins").walkThrough(ctx, contract.WalkSteps[contract.Clean][:1])
	}
}

// most landscapes of this command at once.
const most = 9

// claim the first landscape that nobody uses.
func claim() (rundir.Dir, *rundir.Lock, error) {
	home, err := rundir.Home()
	if err != nil {
		return rundir.Dir{}, nil, err
	}
	for n := range most {
		name := "contract"
		if n > 0 {
			name += fmt.Sprintf("-%d", n+1)
		}
		dir, err := rundir.Of(home, name)
		if err != nil {
			return rundir.Dir{}, nil, err
		}
		lock, err := dir.TakeLock()
		if !errors.Is(err, rundir.ErrInUse) {
			return dir, lock, err
		}
	}
	return rundir.Dir{}, nil, fmt.Errorf("find a free landscape: contract to contract-%d are all in use", most)
}
