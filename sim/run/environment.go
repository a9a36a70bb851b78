package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/transplant-sim/transplant/sim/engine"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// environment is the landscape that several scenarios share.
type environment struct {
	worker *worker
	needs  landscape.Landscape
	world  world.World
	toKeep bool // a checkpoint will be made of it
}

// start the landscape, unless it is there. Where it does not come up its logs are in the folder.
func (e *environment) start(ctx context.Context, journal *timeline.Journal, logs string) error {
	if e.world != nil {
		return nil
	}
	w, err := e.worker.place.Start(ctx, Request{
		Landscape: e.needs, RandomSeed: e.worker.randomSeed, Logs: logs, From: e.worker.checkpoint(),
		ToKeep:   e.toKeep,
		Progress: func(text string) { journal.Record(timeline.Event{Payload: timeline.Note{Text: text}}) },
	})
	if err != nil {
		return fmt.Errorf("make the landscape: %w", err)
	}
	e.world = w
	return nil
}

// checkpoint that landscapes are started from; nil for none.
func (r *runner) checkpoint() Checkpoint {
	if r.kept == nil {
		return nil
	}
	return r.kept.checkpoint
}

// logsWithin bounds the copying of logs at the end of a run.
const logsWithin = time.Minute

// keepLogs of a landscape, if one is up. One that has not come up has copied them already.
func (e *environment) keepLogs(ctx context.Context, folder string) error {
	var err error
	if e.world != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logsWithin)
		defer cancel()
		err = e.world.KeepLogs(ctx, folder)
	}
	if err = errors.Join(err, markLogs(folder)); err != nil {
		return fmt.Errorf("keep the logs: %w", err)
	}
	return nil
}

// clear deletes the shoots of a run. If that fails, the next scenario gets a landscape of its own.
func (e *environment) clear(ctx context.Context) {
	if e.world == nil {
		return
	}
	if e.worker.kept != nil { // the next one begins with a fresh copy
		if err := e.stop(ctx); err != nil {
			e.worker.trouble(err)
		}
		return
	}
	if err := engine.Clear(ctx, e.world, e.worker.clock); err != nil {
		err = fmt.Errorf("the landscape cannot be used again: %w", err)
		if ctx.Err() == nil {
			e.worker.trouble(err) // something cannot be deleted that the run has left
		} else {
			e.worker.printf("%v\n", err)
		}
		if err := e.stop(ctx); err != nil {
			e.worker.trouble(err)
		}
	}
}

func (e *environment) stop(ctx context.Context) error {
	if e.world == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := e.world.Stop(ctx)
	e.world = nil
	if err != nil {
		return fmt.Errorf("end the landscape: %w", err)
	}
	return nil
}
