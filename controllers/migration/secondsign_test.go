package migration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/migration/secondsign"
)

// voices are the shoots that answer.
type voices map[string]bool

func (v voices) Hear(_ context.Context, shoot *gardencorev1beta1.Shoot) error {
	if !v[shoot.Name] {
		return errors.New("it does not answer")
	}
	return nil
}

func asleep(shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
	shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(true)}
	shoot.Status.IsHibernated = true
	return shoot
}

// A seed that is cut off only from the garden keeps its shoots while they answer by their names
// (docs/ownership.md#spec-9-4).
func TestWhoAnswersByItsNameIsNotEvacuated(t *testing.T) {
	t.Parallel()
	const stays, goes = "a a Reconcile/Succeeded false", "b a Reconcile/Succeeded true"
	answering := voices{"one": true, "two": true}
	garden := newGarden(t, "Unknown",
		stranded("one", "a", "a", "Reconcile", "Succeeded"), stranded("two", "a", "a", "Reconcile", "Succeeded"),
		stranded("mute", "a", "a", "Reconcile", "Succeeded"), asleep(stranded("asleep", "a", "a", "Reconcile", "Succeeded")),
		stranded("lost", "a", "b", "Migrate", "Error"), stranded("elsewhere", "b", "b", "Reconcile", "Succeeded"),
	)
	e, clock := newEvacuation(garden, &eventLog{})
	e.Second = answering
	expect := func(when, one, two, asleep, lost string) {
		t.Helper()
		want := map[string]string{"one": one, "two": two, "mute": goes, "asleep": asleep, "lost": lost,
			"elsewhere": "b b Reconcile/Succeeded false"}
		if diff := cmp.Diff(want, state(t, garden)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	const lostStays = "a b Migrate/Error false"
	lookFor(t, e, clock, 20)
	expect("two answer", stays, stays, stays, lostStays)
	answering["two"] = false
	lookFor(t, e, clock, 5) // not longer than the grace period
	expect("one has just fallen silent", stays, stays, stays, lostStays)
	lookFor(t, e, clock, 1)
	expect("one is silent", stays, goes, stays, lostStays)
	answering["one"] = false
	lookFor(t, e, clock, 5)
	expect("the other has just fallen silent", stays, goes, stays, lostStays)
	lookFor(t, e, clock, 1)
	expect("nobody answers", goes, goes, goes, "c b Migrate/Error true")
}

// Without a second sign nobody is asked; a dead seed's shoots go after the grace period in both cases.
func TestASilentSeedWhoseShootsAreSilentIsEvacuatedAtOnce(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]secondsign.Listener{"no second sign is wanted": nil, "nobody answers": voices{}} {
		garden := newGarden(t, "Unknown", stranded("s", "a", "a", "Reconcile", "Succeeded"),
			asleep(stranded("z", "a", "a", "Reconcile", "Succeeded")))
		e, clock := newEvacuation(garden, &eventLog{})
		e.Second = second
		lookFor(t, e, clock, 7)
		want := map[string]string{"s": "b a Reconcile/Succeeded true", "z": "b a Reconcile/Succeeded true"}
		if diff := cmp.Diff(want, state(t, garden)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// slow is a listener whose questions take their time.
type slow struct {
	clock *testingclock.FakeClock
	takes time.Duration
}

func (s slow) Hear(context.Context, *gardencorev1beta1.Shoot) error {
	s.clock.Step(s.takes)
	return errors.New("it does not answer")
}

// The time that is spent on asking is no gap, else nobody would ever have been lost for long enough; a time in which
// nothing was done at all is one.
func TestAskingIsNoGap(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]string{
		3 * time.Second: "b a Reconcile/Succeeded true", 30 * time.Second: "a a Reconcile/Succeeded false",
	} {
		garden := newGarden(t, "Unknown", stranded("s", "a", "a", "Reconcile", "Succeeded"))
		e, clock := newEvacuation(garden, &eventLog{})
		e.Second = slow{clock, takes}
		lookFor(t, e, clock, 9)
		if got := state(t, garden)["s"]; got != want {
			t.Errorf("asking takes %v: it is %s, want %s", takes, got, want)
		}
	}
}

// talkers are shoots that answer; asking the others takes its time.
type talkers struct {
	voices
	slow
}

func (b talkers) Hear(ctx context.Context, shoot *gardencorev1beta1.Shoot) error {
	if b.voices[shoot.Name] {
		return nil
	}
	return b.slow.Hear(ctx, shoot)
}

// However long it takes to ask the mute ones, who has answered in the same look has answered now.
func TestWhoAnswersIsNotOutlivedByTheAsking(t *testing.T) {
	t.Parallel()
	shoots := []*gardencorev1beta1.Shoot{stranded("answers", "a", "a", "Reconcile", "Succeeded")}
	for i := range 200 { // more than are asked at once: the asking may take as long as several turns take at most
		shoots = append(shoots, stranded(fmt.Sprintf("mute-%d", i), "a", "a", "Reconcile", "Succeeded"))
	}
	garden := newGarden(t, "Unknown", shoots...)
	e, clock := newEvacuation(garden, &eventLog{})
	e.AtOnce = 1                                                                    // it would be the first
	e.Second = talkers{voices{"answers": true}, slow{clock, 40 * time.Millisecond}} // eight seconds in all
	lookFor(t, e, clock, 8)
	got := state(t, garden)
	if got["answers"] != "a a Reconcile/Succeeded false" {
		t.Errorf("it has answered every time: %s", got["answers"])
	}
	if got["mute-0"] != "b a Reconcile/Succeeded true" {
		t.Errorf("no seed was lost for long enough, are all shoots asked at once? The first mute one: %s", got["mute-0"])
	}
}
