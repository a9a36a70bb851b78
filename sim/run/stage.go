package run

import (
	"context"
	"fmt"

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

func (s *stage) start(ctx context.Context, journal *timeline.Journal) error {
	if s.world != nil {
		return nil
	}
	w, err := s.lane.place.Start(ctx, Request{
		Landscape: s.needs, RandomSeed: s.lane.randomSeed,
		Progress: func(text string) { journal.Record(timeline.Event{Payload: timeline.Note{Text: text}}) },
	})
	if err != nil {
		return fmt.Errorf("make the landscape: %w", err)
	}
	s.world = w
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
