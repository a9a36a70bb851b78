package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// fakeProbe calls look at each sample.
type fakeProbe struct {
	pace probe.Pace
	look func(ctx context.Context, to timeline.Recorder) error
}

func (f *fakeProbe) Name() string     { return "fake" }
func (f *fakeProbe) Pace() probe.Pace { return f.pace }
func (f *fakeProbe) Sample(ctx context.Context, to timeline.Recorder) error {
	return f.look(ctx, to)
}

func await(t *testing.T, there func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !there(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what was awaited did not come")
		}
	}
}

func newTestObservers() (*observers, *timeline.Journal) {
	j := timeline.NewJournal(clock.RealClock{}, nil)
	return newObservers(clock.RealClock{}, j), j
}

// The last look begins after all others have ended.
func TestLastLook_SampleHangs_ComesAfterIt(t *testing.T) {
	t.Parallel()
	c, _ := newTestObservers()
	var looks atomic.Int32
	began, release := make(chan struct{}), make(chan struct{})
	c.sample(t.Context(), "g", &fakeProbe{probe.Pace{Every: time.Hour, Timeout: time.Minute, Overlap: 1},
		func(context.Context, timeline.Recorder) error {
			if looks.Add(1) == 1 {
				close(began)
				<-release
			}
			return nil
		}})
	<-began
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.lastLook(t.Context(), "g", 1)
	}()
	close(release)
	<-done
	if looks.Load() != 2 {
		t.Errorf("it looked %d times, want once more after the look that hung", looks.Load())
	}
	c.lastLook(t.Context(), "g", 1)
	if looks.Load() != 2 {
		t.Error("a group that has been ended looks again")
	}
}

// A sample that hangs does not delay the next, up to the overlap.
func TestSample_SamplesHang_OverlapIsBounded(t *testing.T) {
	t.Parallel()
	c, _ := newTestObservers()
	var begun, under, most atomic.Int32
	release := make(chan struct{})
	c.sample(t.Context(), "g", &fakeProbe{probe.Pace{Every: time.Millisecond, Timeout: time.Minute, Overlap: 3},
		func(context.Context, timeline.Recorder) error {
			begun.Add(1)
			if n := under.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-release
			under.Add(-1)
			return nil
		}})
	await(t, func() bool { return begun.Load() == 3 })
	time.Sleep(20 * time.Millisecond) // long enough for many more ticks
	if begun.Load() != 3 {
		t.Errorf("%d samples are under way, want 3", begun.Load())
	}
	close(release)
	await(t, func() bool { return begun.Load() > 10 })
	c.stop()
	if most.Load() != 3 {
		t.Errorf("%d samples were under way at once, want 3", most.Load())
	}
}

// What was sent must be recorded: the end of a group waits for it, and does not cancel it.
func TestEnd_SampleUnderWay_WaitsForIt(t *testing.T) {
	t.Parallel()
	c, j := newTestObservers()
	begun := make(chan struct{}, 1)
	c.sample(t.Context(), "g", &fakeProbe{probe.Pace{Every: time.Hour, Timeout: time.Minute, Overlap: 1},
		func(ctx context.Context, to timeline.Recorder) error {
			begun <- struct{}{}
			select {
			case <-ctx.Done():
				to.Record(timeline.Event{Payload: timeline.Note{Text: "cancelled"}})
			case <-time.After(50 * time.Millisecond):
				to.Record(timeline.Event{Payload: timeline.Note{Text: "finished"}})
			}
			return nil
		}})
	<-begun
	c.end("g")
	_, note, found := timeline.First[timeline.Note](j.Events())
	if !found || note.Text != "finished" {
		t.Errorf("recorded %+v, %t", note, found)
	}
	c.end("g")   // again is no harm
	c.end("not") // nor is one that never was
}

func TestSample_StepEnds_GoesOn(t *testing.T) {
	t.Parallel()
	c, _ := newTestObservers()
	ctx, cancel := context.WithCancel(t.Context())
	var samples atomic.Int32
	c.sample(ctx, "g", &fakeProbe{probe.Pace{Every: time.Millisecond, Timeout: time.Second, Overlap: 1},
		func(ctx context.Context, _ timeline.Recorder) error {
			samples.Add(1)
			return ctx.Err()
		}})
	cancel()
	before := samples.Load()
	await(t, func() bool { return samples.Load() > before+5 })
	c.stop()
}

// A complaint is recorded again only after a success or another complaint.
func TestComplaints_SameErrorAgain_IsRecordedOnce(t *testing.T) {
	t.Parallel()
	c, j := newTestObservers()
	errs := []error{errors.New("a"), errors.New("a"), errors.New("b"), nil, errors.New("b"), errors.New("b")}
	var n atomic.Int32
	c.sample(t.Context(), "g", &fakeProbe{probe.Pace{Every: time.Millisecond, Timeout: time.Second, Overlap: 1},
		func(context.Context, timeline.Recorder) error {
			return errs[min(int(n.Add(1))-1, len(errs)-1)]
		}})
	await(t, func() bool { return int(n.Load()) > len(errs) })
	c.stop()
	var got []string
	for _, u := range timeline.Of[timeline.Unseen](j.Events()) {
		got = append(got, u.Probe+" "+u.Error)
	}
	if want := []string{"fake a", "fake b", "fake b"}; !slices.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

type fakeFollower struct{ times atomic.Int32 }

func (f *fakeFollower) Name() string { return "follower" }
func (f *fakeFollower) Follow(ctx context.Context, _ timeline.Recorder) error {
	if f.times.Add(1) < 3 {
		return errors.New("the watch has ended")
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestFollow_FollowerFails_IsStartedAgain(t *testing.T) {
	t.Parallel()
	c, j := newTestObservers()
	f := &fakeFollower{}
	c.follow(t.Context(), "g", f)
	await(t, func() bool { return f.times.Load() == 3 })
	c.stop()
	complaints := 0
	for range timeline.Of[timeline.Unseen](j.Events()) {
		complaints++
	}
	if complaints != 1 { // the end of the run is no complaint
		t.Errorf("%d complaints", complaints)
	}
}

// fakeWatched follows, and can be looked at.
type fakeWatched struct {
	fakeProbe
	following chan struct{}
}

func (f *fakeWatched) Follow(ctx context.Context, _ timeline.Recorder) error {
	close(f.following)
	<-ctx.Done()
	return ctx.Err()
}

// The last events may not have come.
func TestLastLook_Follower_SamplesOnce(t *testing.T) {
	t.Parallel()
	c, _ := newTestObservers()
	looks := 0
	f := &fakeWatched{following: make(chan struct{}), fakeProbe: fakeProbe{probe.Pace{Timeout: time.Minute},
		func(context.Context, timeline.Recorder) error {
			looks++
			return nil
		}}}
	c.follow(t.Context(), "g", f)
	<-f.following
	c.lastLook(t.Context(), "g", 1)
	if looks != 1 {
		t.Errorf("it was looked at %d times after it was followed, want once", looks)
	}
}

// Oracles must know what could not be seen in the end.
func TestLastLook_LookFails_IsRepeatedThenRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fails, looks, unseen int }{
		"it succeeds": {0, 1, 0}, "once it does not": {1, 2, 0}, "it never does": {9, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, j := newTestObservers()
			looks := 0
			f := &fakeWatched{following: make(chan struct{}), fakeProbe: fakeProbe{probe.Pace{Timeout: time.Minute},
				func(context.Context, timeline.Recorder) error {
					if looks++; looks <= c.fails {
						return errors.New("too busy")
					}
					return nil
				}}}
			o.follow(t.Context(), "g", f)
			<-f.following
			o.lastLook(t.Context(), "g", 3)
			final := 0
			for _, unseen := range timeline.Of[timeline.Unseen](j.Events()) {
				if unseen.Final {
					final++
				}
			}
			if looks != c.looks || final != c.unseen {
				t.Errorf("%d looks, %d unseen; want %d and %d", looks, final, c.looks, c.unseen)
			}
		})
	}
}

func TestDice_OtherNameOrSeed_RollsDifferently(t *testing.T) {
	t.Parallel()
	roll := func(seed uint64, name string) [4]uint64 {
		d := dice(seed, name)
		return [4]uint64{d.Uint64(), d.Uint64(), d.Uint64(), d.Uint64()}
	}
	if first, again := roll(1, "keys of alpha"), roll(1, "keys of alpha"); first != again {
		t.Error("the same stream rolls differently")
	}
	if roll(1, "keys of alpha") == roll(1, "keys of beta") || roll(1, "keys of alpha") == roll(2, "keys of alpha") {
		t.Error("different streams roll the same")
	}
}
