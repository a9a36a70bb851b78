package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// recorded is what the engine has recorded of a probe since.
func recorded(j *timeline.Journal, probe string, since int) (all []timeline.Looked) {
	for e, p := range timeline.Of[timeline.Looked](j.Events()[since:]) {
		if e.Subject == probe {
			all = append(all, p)
		}
	}
	return all
}

func TestObservers_Heartbeat_SaysWhichProbesLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, j := newTestObservers()
		c.beat()
		looks := 0
		c.sample(t.Context(), "g", &fakeProbe{probe.Pace{Every: time.Second, Timeout: time.Minute, Overlap: 1},
			func(context.Context, timeline.Recorder) error {
				if looks++; looks > 7 {
					return errors.New("no answer")
				}
				return nil
			}})
		c.follow(t.Context(), "g", &fakeFollower{})
		time.Sleep(Heartbeat + time.Second/2)
		if said := recorded(j, "fake", 0); len(said) != 1 || said[0].Looks < 4 || said[0].Failed != 0 {
			t.Errorf("it is said of who looks each second: %+v", said)
		}
		if said := recorded(j, "follower", 0); len(said) != 1 || !said[0].Follows || said[0].Looks != 2 ||
			said[0].Failed != 2 {
			t.Errorf("it is said of who follows at the third attempt: %+v", said)
		}
		since := len(j.Events())
		time.Sleep(Heartbeat)
		if said := recorded(j, "fake", since); len(said) != 1 || said[0].Failed < 3 {
			t.Errorf("it is said of who cannot see any more: %+v", said)
		}
		since = len(j.Events())
		c.lastLook(t.Context(), "g", 2)
		if said := recorded(j, "fake", since); len(said) != 2 || !said[0].Ended || !said[1].Final || said[1].Looks != 2 ||
			said[1].Failed != 2 {
			t.Errorf("it is said of the last look: %+v", said)
		}
		if said := recorded(j, "follower", since); len(said) != 1 || !said[0].Ended || said[0].Follows {
			t.Errorf("it is said of who has no last look: %+v", said)
		}
		c.stop()
		since = len(j.Events())
		time.Sleep(3 * Heartbeat)
		if after := j.Events()[since:]; len(after) > 0 {
			t.Errorf("after the end: %+v", after)
		}
	})
}

func TestTally_Events_AreCountedByKind(t *testing.T) {
	t.Parallel()
	j := timeline.NewJournal(clock.RealClock{}, nil)
	counted := newTally(j)
	for range 3 {
		counted.Record(timeline.Event{Payload: timeline.Note{}})
	}
	counted.Record(timeline.Event{Payload: timeline.Settling{}})
	if got := counted.counts(); len(got) != 2 || got["Note"] != 3 || got["Settling"] != 1 || len(j.Events()) != 4 {
		t.Errorf("counted %v of %d", got, len(j.Events()))
	}
}
