package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// A folder whose pod has just gone counts as a change: the last look is taken once more.
func TestChanging_FolderLosesItsPod_Differs(t *testing.T) {
	t.Parallel()
	look := func(items ...timeline.Item) []string {
		return changing([]timeline.Event{{Subject: "a", Payload: timeline.InventorySeen{When: timeline.After, Items: items}}})
	}
	folder := timeline.Item{Class: "folder", Name: "pods/1", Owner: "1"}
	pod := timeline.Item{Class: "pods", Name: "p", UID: "1"}
	with, without := look(folder, pod), look(folder)
	if slices.Equal(with, without) {
		t.Errorf("with and without its pod: %q", with)
	}
	if again := look(folder); !slices.Equal(without, again) {
		t.Errorf("two looks at the same are %q and %q", without, again)
	}
	if none := look(pod); len(none) != 0 {
		t.Errorf("a pod that mentions no shoot is on its way out: %q", none)
	}
}

// One look proves nothing, however late it comes: what is seen then may be on its way out.
func TestLastInventories_OneLookFails_TwoMustAgree(t *testing.T) {
	t.Parallel()
	w := &counted{busy: &busy{World: worldtest.New(t, "a", "b"), cluster: "b"}}
	i := inventories{&scope{Options: Options{
		Scenario: &scenario.Scenario{}, World: w, Journal: timeline.NewJournal(clock.RealClock{}, nil),
		Clock:    clock.RealClock{},
		Patience: Patience{Changing: time.Nanosecond},
	}}}
	i.Patience.fill()
	w.fails.Store(1)
	if err := i.last(t.Context()); err != nil || w.looks != 3 {
		t.Errorf("after one that failed there were %d looks, %v; want 2", w.looks-1, err)
	}
}

// A machine may be too busy for one answer.
func TestFinale_LastLookFails_IsRepeated(t *testing.T) {
	t.Parallel()
	team, journal := newTestObservers()
	r := &runner{scope: &scope{Options: Options{
		Scenario: &scenario.Scenario{}, World: worldtest.New(t, "a"), Journal: journal, Clock: clock.RealClock{},
		Patience: Patience{Round: time.Nanosecond, Changing: time.Nanosecond},
	}, observers: team, registry: registry{shoots: map[string]entry{"alpha": {}}}}}
	r.Patience.fill()
	looks := 0
	f := &fakeWatched{following: make(chan struct{}), fakeProbe: fakeProbe{probe.Pace{Timeout: time.Minute},
		func(context.Context, timeline.Recorder) error {
			if looks++; looks < 3 {
				return errors.New("too busy")
			}
			return nil
		}}}
	team.follow(t.Context(), "alpha", f)
	<-f.following
	if err := r.finale(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e, unseen, is := timeline.First[timeline.Unseen](journal.Events()); is || looks != 3 {
		t.Errorf("after %d looks: event %d, %+v", looks, e.Seq, unseen)
	}
}

type counted struct {
	*busy
	looks int
}

func (c *counted) Items(ctx context.Context) (map[string][]timeline.Item, error) {
	c.looks++
	return c.busy.Items(ctx)
}
