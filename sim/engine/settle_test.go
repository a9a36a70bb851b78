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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func settler(t *testing.T, fails int32) convergence {
	t.Helper()
	w := &busy{World: worldtest.New(t, "a", "b"), cluster: "b"}
	clients, err := world.NewClients(w)
	if err != nil {
		t.Fatal(err)
	}
	w.fails.Store(fails)
	c := convergence{&scope{Options: Options{
		Scenario: &scenario.Scenario{}, World: w, Journal: timeline.NewJournal(clock.RealClock{}, nil),
		Clock:    clock.RealClock{},
		Patience: Patience{Quiet: time.Millisecond},
	}, clients: clients}}
	c.Patience.fill()
	return c
}

func settledIn(t *testing.T, r convergence) timeline.Settled {
	t.Helper()
	_, settled, found := timeline.First[timeline.Settled](r.Journal.Events())
	if !found {
		t.Fatal("nobody says whether it has settled")
	}
	return settled
}

// A seed that cannot be read may have settled.
func TestSettle_UnreadableSeed_IsUnknown(t *testing.T) {
	t.Parallel()
	r := settler(t, math.MaxInt32)
	if err := r.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	settled := settledIn(t, r)
	if settled.Converged || len(settled.Waiting) > 0 || len(settled.Unknown) != 1 || !strings.HasPrefix(settled.Unknown[0],
		"seed b cannot be read: ") {
		t.Errorf("settled %+v", settled)
	}
}

// settling starts to settle a run on a clock that stands, with two minutes for it and three quiet seconds. It returns
// when the run sleeps; sleeping waits until it does again.
func settling(t *testing.T, r convergence) (clock *testingclock.FakeClock, sleeping func(), ended <-chan error) {
	t.Helper()
	r.Scenario.Spec.SettleWithin.Duration = 2 * time.Minute
	r.Patience.Quiet = 3 * time.Second
	clock = testingclock.NewFakeClock(time.Now())
	r.Clock = clock
	result := make(chan error, 1)
	go func() { result <- r.settle(t.Context()) }()
	sleeping = func() {
		for !clock.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
	}
	sleeping()
	return clock, sleeping, result
}

// What was seen to move shortly before the deadline has not settled, although the last look is blind.
func TestSettle_MovedBeforeABlindLook_HasNotSettled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dark time.Duration // before the deadline
		want []string
	}{
		"just before": {time.Second, []string{`there is no shoot alpha, when it could be seen last, 1s before the deadline`}},
		"before that": {4 * time.Second, nil}, // it may have settled in the other 3 s
		"long before": {time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := settler(t, 0)
			r.World.(*busy).cluster = landscape.Garden
			r.registry.shoots = map[string]entry{"alpha": {on: true}}
			clock, sleeping, ended := settling(t, r)
			clock.Step(2*time.Minute - c.dark)
			sleeping()
			r.World.(*busy).fails.Store(math.MaxInt32)
			clock.Step(c.dark)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			settled := settledIn(t, r)
			if diff := cmp.Diff(c.want, settled.Waiting); diff != "" || len(settled.Unknown) == 0 {
				t.Errorf("waiting (-want +got):\n%s, unknown %v", diff, settled.Unknown)
			}
		})
	}
}

// dim is a world in which nobody reaches a shoot's API server.
type dim struct{ *worldtest.World }

func (dim) ConnectShoot(context.Context, string, string) (*rest.Config, error) {
	return nil, errors.New("it took too long")
}

// The shoot was seen to be well again before the blind look.
func TestSettle_GotWellBeforeABlindLook_IsNotSaidToMove(t *testing.T) {
	t.Parallel()
	r := settler(t, 0)
	w := r.World.(*busy).World
	r.World, r.registry.shoots = dim{w}, map[string]entry{"alpha": {on: true}}
	fake, sleeping, ended := settling(t, r)
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
	if settled := settledIn(t, r); len(settled.Waiting) > 0 || len(settled.Unknown) == 0 || settled.Converged {
		t.Errorf("settled %+v", settled)
	}
}

// headless is a world in which no API server runs for a shoot that the garden calls healthy.
type headless struct{ *worldtest.World }

func (h headless) ConnectShoot(_ context.Context, shoot, _ string) (*rest.Config, error) {
	return nil, fmt.Errorf("connect: %w", world.NoAPIServer{Shoot: shoot, Seed: "a"})
}

// A missing API server is known, so the verdict does not become unknown.
func TestSettle_ShootWithoutAnAPIServer_HasNotSettled(t *testing.T) {
	t.Parallel()
	r := settler(t, 0)
	w := r.World.(*busy).World
	clients, _, _ := worldtest.SetUp(t, w, 0)
	env := &step.Environment{World: w, Clients: clients, Clock: clock.RealClock{}}
	if err := env.Await(t.Context(), "shoot('alpha').healthy", time.Minute); err != nil {
		t.Fatal(err)
	}
	r.World, r.registry.shoots = headless{w}, map[string]entry{"alpha": {on: true}}
	if err := r.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	settled := settledIn(t, r)
	if len(settled.Unknown) > 0 || len(settled.Waiting) != 1 || !strings.Contains(settled.Waiting[0],
		`shoot "alpha" has no API server on seed "a"`) {
		t.Errorf("settled %+v", settled)
	}
}

// Such an expectation ends the steps; the run goes on to its finale.
func TestSteps_ExpectationThatCannotBeChecked_IsUnknown(t *testing.T) {
	t.Parallel()
	r := &runner{scope: settler(t, math.MaxInt32).scope}
	r.env = &step.Environment{World: r.World, Clients: r.clients, Clock: r.Clock}
	r.Scenario.Spec.Steps = []step.Spec{
		{Expect: &step.Expect{That: "seed('b').shoots == 0", Within: metav1.Duration{Duration: time.Millisecond}}},
		{Wait: &step.Wait{For: metav1.Duration{Duration: time.Hour}, Because: "it must not run"}},
	}
	if err := r.steps(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, ended, _ := timeline.First[timeline.StepEnded](r.Journal.Events())
	if ended.Outcome != timeline.StepUnknown || !strings.Contains(ended.Message, `seed("b").shoots cannot be read`) {
		t.Errorf("ended %+v", ended)
	}
}

func TestSettle_LandscapeThatIsSettled_SaysWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	r := settler(t, 0)
	r.Patience.Quiet = 50 * time.Millisecond
	if err := r.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := r.Journal.Events()
	_, settling, _ := timeline.First[timeline.Settling](events)
	at, settled, _ := timeline.First[timeline.Settled](events)
	if !settled.Converged || settled.Objects == 0 || settling.Quiet != timeline.Length(50*time.Millisecond) ||
		at.At-time.Duration(settled.Since) < 50*time.Millisecond {
		t.Errorf("%+v, %+v at %s", settling, settled, at.At)
	}
}

// What moves at the beginning of the quiet time begins it anew at once, and not when it is over.
func TestSettle_MovesEarlyInTheQuietTime_BeginsItAnew(t *testing.T) {
	t.Parallel()
	r := settler(t, 0)
	clock, sleeping, ended := settling(t, r)
	seed, err := r.clients.Cluster("a")
	if err != nil {
		t.Fatal(err)
	}
	late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "late"}}
	if err := seed.Create(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	for _, pause := range []time.Duration{time.Second, pollInterval, time.Second, time.Second} {
		clock.Step(pause)
		sleeping()
	}
	clock.Step(time.Second)
	for {
		select {
		case err := <-ended:
			if settled := settledIn(t, r); err != nil || !settled.Converged {
				t.Errorf("settled %+v, %v", settled, err)
			}
			return
		default:
		}
		if clock.HasWaiters() {
			t.Fatal("three seconds after the last write it has not settled")
		}
		time.Sleep(time.Millisecond)
	}
}

// An interrupt while the landscape settles says nothing about it.
func TestSettle_Interrupt_EndsTheRun(t *testing.T) {
	t.Parallel()
	r := settler(t, 0)
	stop := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := r.settle(ctx); !errors.Is(err, stop) {
		t.Errorf("error %v, want that it was interrupted", err)
	}
	if settled := settledIn(t, r); settled.Converged || len(settled.Waiting) > 0 {
		t.Errorf("settled %+v", settled)
	}
}

// hasty is a clock on which nobody waits.
type hasty struct{ *testingclock.FakeClock }

func (h hasty) After(d time.Duration) <-chan time.Time {
	after := h.FakeClock.After(d)
	h.Step(d)
	return after
}

func TestSettle_NotSettledYet_IsNotedNowAndThen(t *testing.T) {
	t.Parallel()
	r := settler(t, math.MaxInt32)
	r.Clock = hasty{testingclock.NewFakeClock(time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC))}
	r.Scenario.Spec.SettleWithin = metav1.Duration{Duration: 25 * time.Second}
	if err := r.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, note := range timeline.Of[timeline.Note](r.Journal.Events()) {
		if notes++; !strings.HasPrefix(note.Text, "not settled yet: seed b cannot be read: ") {
			t.Errorf("it says %q", note.Text)
		}
	}
	if notes != 2 {
		t.Errorf("in 25 s it says so %d times, want 2", notes)
	}
	if text := (pending{moves: []string{"x moves", "y moves"},
		unknown: []string{"z"}}).String(); text != "x moves, and 2 more" {
		t.Errorf("three are shown as %q", text)
	}
}
