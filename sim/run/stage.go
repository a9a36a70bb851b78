package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/story"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// stage is the landscape that several stories share.
type stage struct {
	lane  *lane
	needs landscape.Landscape
	world world.World
}

// start the landscape, unless it is there. Where it does not come up its logs are in the folder.
func (s *stage) start(ctx context.Context, journal *timeline.Journal, logs string) error {
	if s.world != nil {
		return nil
	}
	w, err := s.lane.place.Start(ctx, Request{
		Landscape: s.needs, RandomSeed: s.lane.randomSeed, Logs: logs,
		Progress: func(text string) { journal.Record(timeline.Event{Payload: timeline.Note{Text: text}}) },
	})
	if err != nil {
		return fmt.Errorf("make the landscape: %w", err)
	}
	s.world = w
	return nil
}

// logsWithin bounds the copying of logs at the end of a run.
const logsWithin = time.Minute

// keepLogs of a landscape that is up, as far as it keeps any. One that has not come up has copied them already.
func (s *stage) keepLogs(ctx context.Context, folder string) error {
	var err error
	if keeper, keeps := s.world.(world.LogKeeper); keeps {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logsWithin)
		defer cancel()
		err = keeper.KeepLogs(ctx, folder)
	}
	if err = errors.Join(err, markLogs(folder)); err != nil {
		return fmt.Errorf("keep the logs: %w", err)
	}
	return nil
}

// clear takes the shoots of a story off the landscape. When that fails the next story gets a landscape of its own.
func (s *stage) clear(ctx context.Context) {
	if s.world == nil {
		return
	}
	if err := story.Clear(ctx, s.world, s.lane.clock); err != nil {
		err = fmt.Errorf("the landscape cannot be used again: %w", err)
		if ctx.Err() == nil {
			s.lane.trouble(err) // somebody cannot delete what the story has left
		} else {
			s.lane.printf("%v\n", err)
		}
		if err := s.stop(ctx); err != nil {
			s.lane.trouble(err)
		}
	}
}

func (s *stage) stop(ctx context.Context) error {
	if s.world == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := s.world.Stop(ctx)
	s.world = nil
	if err != nil {
		return fmt.Errorf("end the landscape: %w", err)
	}
	return nil
}
