package fault_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// bell is a trigger that the test pulls.
type bell struct {
	ring   func(context.Context)
	silent bool
	fail   error
}

func (b *bell) String() string { return "the bell" }

func (b *bell) Arm(_ context.Context, _ world.World, fire func(context.Context)) (func(), error) {
	b.ring = fire
	return func() { b.silent = true }, b.fail
}

// summary is what a journal holds about faults, in short.
func summary(journal *timeline.Journal) []string {
	var lines []string
	for _, e := range journal.Events() {
		lines = append(lines, strings.TrimPrefix(string(e.Kind), "Fault")+" "+e.Subject)
	}
	return lines
}

func TestAwait(t *testing.T) {
	t.Parallel()
	spec := examples["cut"]
	_, cut := spec.Fault()
	for name, c := range map[string]struct {
		play  func(*testing.T, *fault.Active, *bell)
		heals int
		want  []string
	}{
		"fires": {func(t *testing.T, active *fault.Active, b *bell) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // of the request that was the trigger, say
			b.ring(ctx)
			b.ring(ctx)
			must(t, active.Heal(t.Context(), "it"))
		}, 1, []string{"Awaited it", "Injected it", "Healed it"}},
		"healed before": {func(t *testing.T, active *fault.Active, b *bell) {
			must(t, active.Heal(t.Context(), "it"))
			b.ring(t.Context())
		}, 0, []string{"Awaited it"}},
		"never": {func(t *testing.T, active *fault.Active, b *bell) {}, 0, []string{"Awaited it"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w, b, journal := &spy{World: worldtest.New(t, "a")}, &bell{}, timeline.NewJournal(clock.RealClock{}, nil)
			active := fault.NewActive(w, journal)
			must(t, active.Await(t.Context(), "it", cut, b))
			if err := active.Await(t.Context(), "it", cut, b); err == nil {
				t.Error("two faults of one name wait")
			}
			if !active.AtWork() {
				t.Error("a fault that waits is not at work")
			}
			c.play(t, active, b)
			must(t, active.HealAll(t.Context()))
			if active.AtWork() {
				t.Error("a fault is at work when all are healed")
			}
			if diff := cmp.Diff(c.want, summary(journal)); diff != "" || w.heals != c.heals || !b.silent {
				t.Errorf("healed %d times, disarmed %t (-want +got):\n%s", w.heals, b.silent, diff)
			}
		})
	}
}

// An error for which nobody waits is in the record, and returned by the heal.
func TestAwait_InjectionFails_IsRecorded(t *testing.T) {
	t.Parallel()
	spec := examples["cut"]
	_, cut := spec.Fault()
	journal, b := timeline.NewJournal(clock.RealClock{}, nil), &bell{}
	active := fault.NewActive(limited{worldtest.New(t, "a")}, journal)
	must(t, active.Await(t.Context(), "it", cut, b))
	b.ring(t.Context())
	if err := active.HealAll(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "this backend cannot break links") {
		t.Errorf("got %v", err)
	}
	if _, healed, _ := timeline.First[timeline.FaultHealed](journal.Events()); !strings.Contains(healed.Error,
		"this backend cannot break links") {
		t.Errorf("recorded %+v", healed)
	}
	if err := active.Await(t.Context(), "other", cut, &bell{fail: errors.New("no rope")}); err == nil ||
		!strings.Contains(err.Error(), "for the bell: no rope") {
		t.Errorf("got %v", err)
	}
}

func (s *onServer) testTrigger(t *testing.T) {
	creates := fault.Requests{Objects: settings, Verbs: []string{"create"}, Turn: requests.Turn{Nth: 2}}
	when := &fault.OnRequest{Requests: creates, At: requests.After}
	_, f := (&fault.Spec{FailRequest: &fault.FailRequest{Requests: fault.Requests{Objects: settings},
		Status: 500}}).Fault()
	must(t, s.faults.Await(t.Context(), "triggered", f, when))
	c := s.client(t)
	for i, want := range []bool{true, true, false} {
		if write(t.Context(), c); (c.err == nil) != want {
			t.Errorf("write %d: %v", i+1, c.err)
		}
	}
	must(t, s.faults.Heal(t.Context(), "triggered"))
	write(t.Context(), c)
	must(t, c.err)
	if len(s.world.link.Injections()) != 0 {
		t.Errorf("the link still has %v", s.world.link.Injections())
	}
}

// What a trigger waits for reads as the end of "waits for", and a subresource has one slash before it.
func TestMomentsInWords(t *testing.T) {
	t.Parallel()
	shoots := fault.Objects{Actor: "gardenlet-a", Target: "garden", Kind: "Shoot"}
	for want, o := range map[string]fault.OnRequest{
		"the moment before a request of gardenlet-a to garden: shoots": {Requests: fault.Requests{Objects: shoots}},
		"the moment after a request of gardenlet-a to garden: patch shoots/status": {
			Requests: fault.Requests{Objects: shoots, Verbs: []string{"patch"}, Subresource: "status"}, At: requests.After,
		},
		"the moment before request number 2 of gardenlet-a to garden: shoots": {
			Requests: fault.Requests{Objects: shoots, Turn: requests.Turn{Nth: 2}}},
		"the moment before request number 3 or later of gardenlet-a to garden: shoots": {
			Requests: fault.Requests{Objects: shoots, Turn: requests.Turn{From: 3}}},
	} {
		if got := o.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
