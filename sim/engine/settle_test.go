package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func settler(t *testing.T, fails int32) *runner {
	t.Helper()
	w := &busy{World: worldtest.New(t, "a", "b"), cluster: "b"}
	clients, err := world.NewClients(w)
	if err != nil {
		t.Fatal(err)
	}
	w.fails.Store(fails)
	told := &runner{Options: Options{
		Scenario: &scenario.Scenario{}, World: w, Journal: timeline.NewJournal(clock.RealClock{}, nil),
		Clock:    clock.RealClock{},
		Patience: Patience{Rest: time.Millisecond},
	}, clients: clients}
	told.Patience.fill()
	return told
}

func settledIn(t *testing.T, told *runner) timeline.Settled {
	t.Helper()
	_, settled, found := timeline.First[timeline.Settled](told.Journal.Events())
	if !found {
		t.Fatal("nobody says whether it has settled")
	}
	return settled
}

// A seed that cannot be looked at may be at rest.
func TestWhatCannotBeReadIsNotSaidToMove(t *testing.T) {
	t.Parallel()
	told := settler(t, math.MaxInt32)
	if err := told.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	settled := settledIn(t, told)
	if settled.Converged || len(settled.Waiting) > 0 || len(settled.Unknown) != 1 || !strings.HasPrefix(settled.Unknown[0],
		"seed b cannot be read: ") {
		t.Errorf("settled %+v", settled)
	}
}

// settling lets a story with two minutes for it, and a rest of three seconds, come to rest on a clock that stands. It
// returns when the story sleeps; sleeping waits until it does again.
func settling(t *testing.T, told *runner) (clock *clocktesting.FakeClock, sleeping func(), ended <-chan error) {
	t.Helper()
	told.Scenario.Spec.SettleWithin.Duration = 2 * time.Minute
	told.Patience.Rest = 3 * time.Second
	clock = clocktesting.NewFakeClock(time.Now())
	told.Clock = clock
	result := make(chan error, 1)
	go func() { result <- told.settle(t.Context()) }()
	sleeping = func() {
		for !clock.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
	}
	sleeping()
	return clock, sleeping, result
}

// What was seen to move shortly before the deadline has not come to rest, although the last look is blind.
func TestWhatMovedBeforeABlindLook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dark time.Duration // before the deadline
		want []string
	}{
		"just before": {time.Second, []string{`there is no shoot alpha, when it could be seen last, 1s before the deadline`}},
		"before that": {4 * time.Second, nil}, // it may have been at rest for the other 3 s
		"long before": {time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := settler(t, 0)
			told.World.(*busy).cluster = landscape.Garden
			told.on = map[string]bool{"alpha": true}
			clock, sleeping, ended := settling(t, told)
			clock.Step(2*time.Minute - c.dark)
			sleeping()
			told.World.(*busy).fails.Store(math.MaxInt32)
			clock.Step(c.dark)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			settled := settledIn(t, told)
			if diff := cmp.Diff(c.want, settled.Waiting); diff != "" || len(settled.Unknown) == 0 {
				t.Errorf("waiting (-want +got):\n%s, unknown %v", diff, settled.Unknown)
			}
		})
	}
}

// dim is a world in which nobody comes to a shoot's API server.
type dim struct{ *worldtest.World }

func (dim) ConnectShoot(context.Context, string, string) (*rest.Config, error) {
	return nil, errors.New("it took too long")
}

// What was not well, and was seen to be well again, moved no more when nobody could see whether anybody writes.
func TestWhatGotWellBeforeABlindLook(t *testing.T) {
	t.Parallel()
	told := settler(t, 0)
	w := told.World.(*busy).World
	told.World, told.on = dim{w}, map[string]bool{"alpha": true}
	fake, sleeping, ended := settling(t, told)
	fake.Step(2*time.Minute - 2*time.Second)
	sleeping()
	clients, _, _ := worldtest.SetUp(t, w, 0)
	env := &step.Environment{World: w, Clients: clients, Clock: clock.RealClock{}}
	if err := env.Await(t.Context(), "shoot('alpha').healthy && seed('a').shoots == 1", time.Minute); err != nil {
		t.Fatal(err)
	}
	fake.Step(time.Second)
	sleeping()
	fake.Step(time.Second)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if settled := settledIn(t, told); len(settled.Waiting) > 0 || len(settled.Unknown) == 0 || settled.Converged {
		t.Errorf("settled %+v", settled)
	}
}

// headless is a world in which no API server runs for a shoot that the garden calls healthy.
type headless struct{ *worldtest.World }

func (h headless) ConnectShoot(_ context.Context, shoot, _ string) (*rest.Config, error) {
	return nil, fmt.Errorf("connect: %w", world.NoAPIServer{Shoot: shoot, Seed: "a"})
}

// A control plane without an API server is a fact, and no rest.
func TestAShootWithoutAnAPIServerIsNotAtRest(t *testing.T) {
	t.Parallel()
	told := settler(t, 0)
	w := told.World.(*busy).World
	clients, _, _ := worldtest.SetUp(t, w, 0)
	env := &step.Environment{World: w, Clients: clients, Clock: clock.RealClock{}}
	if err := env.Await(t.Context(), "shoot('alpha').healthy", time.Minute); err != nil {
		t.Fatal(err)
	}
	told.World, told.on = headless{w}, map[string]bool{"alpha": true}
	if err := told.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	settled := settledIn(t, told)
	if len(settled.Unknown) > 0 || len(settled.Waiting) != 1 || !strings.Contains(settled.Waiting[0],
		`shoot "alpha" has no API server on seed "a"`) {
		t.Errorf("settled %+v", settled)
	}
}

// An expectation that nobody could look at ends the story, which goes on to its finale.
func TestAnExpectationThatNobodyCouldLookAt(t *testing.T) {
	t.Parallel()
	told := settler(t, math.MaxInt32)
	told.env = &step.Environment{World: told.World, Clients: told.clients, Clock: told.Clock}
	told.Scenario.Spec.Steps = []step.Spec{
		{Expect: &step.Expect{That: "seed('b').shoots == 0", Within: metav1.Duration{Duration: time.Millisecond}}},
		{Wait: &step.Wait{For: metav1.Duration{Duration: time.Hour}, Because: "it is not to be told"}},
	}
	if err := told.steps(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, ended, _ := timeline.First[timeline.StepEnded](told.Journal.Events())
	if ended.Outcome != timeline.StepUnknown || !strings.Contains(ended.Message, `seed("b").shoots cannot be told`) {
		t.Errorf("ended %+v", ended)
	}
}

// Whoever calls a landscape settled says how long nothing may move, and how much was looked at.
func TestSettle_LandscapeThatIsSettled_SaysWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	told := settler(t, 0)
	told.Patience.Rest = 50 * time.Millisecond
	if err := told.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := told.Journal.Events()
	_, settling, _ := timeline.First[timeline.Settling](events)
	at, settled, _ := timeline.First[timeline.Settled](events)
	if !settled.Converged || settled.Objects == 0 || settling.Quiet != timeline.Length(50*time.Millisecond) ||
		at.At-time.Duration(settled.Since) < 50*time.Millisecond {
		t.Errorf("%+v, %+v at %s", settling, settled, at.At)
	}
}

// Who interrupts a story while it comes to rest has not found anything about it.
func TestAnInterruptWhileItComesToRestBreaksTheStoryOff(t *testing.T) {
	t.Parallel()
	told := settler(t, 0)
	stop := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := told.settle(ctx); !errors.Is(err, stop) {
		t.Errorf("error %v, want that it was interrupted", err)
	}
	if settled := settledIn(t, told); settled.Converged || len(settled.Waiting) > 0 {
		t.Errorf("settled %+v", settled)
	}
}

// hasty is a clock on which nobody waits.
type hasty struct{ *clocktesting.FakeClock }

func (h hasty) After(d time.Duration) <-chan time.Time {
	after := h.FakeClock.After(d)
	h.Step(d)
	return after
}

// Who watches is told now and then what is still awaited.
func TestWhatIsNotAtRestYetIsTold(t *testing.T) {
	t.Parallel()
	told := settler(t, math.MaxInt32)
	told.Clock = hasty{clocktesting.NewFakeClock(time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC))}
	told.Scenario.Spec.SettleWithin = metav1.Duration{Duration: 25 * time.Second}
	if err := told.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, note := range timeline.Of[timeline.Note](told.Journal.Events()) {
		if notes++; !strings.HasPrefix(note.Text, "not at rest yet: seed b cannot be read: ") {
			t.Errorf("it says %q", note.Text)
		}
	}
	if notes != 2 {
		t.Errorf("in 25 s it says so %d times, want 2", notes)
	}
	if text := (unrest{moves: []string{"x moves", "y moves"},
		unknown: []string{"z"}}).String(); text != "x moves, and 2 more" {
		t.Errorf("three are told as %q", text)
	}
}
