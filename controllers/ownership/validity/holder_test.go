package validity_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// answering is a guard's HTTP server that says what the test says.
type answering struct {
	mu      sync.Mutex
	answer  validity.Answer
	before  func() // runs before the answer is sent
	fence   chan validity.FenceAnswer
	revoked chan string
}

func (a *answering) set(answer validity.Answer, before func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer, a.before = answer, before
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case validity.PathValidity:
		a.mu.Lock()
		answer, before := a.answer, a.before
		a.mu.Unlock()
		if before != nil {
			before()
		}
		_ = json.NewEncoder(w).Encode(answer)
	case validity.PathRevocation:
		select {
		case fence := <-a.fence:
			_ = json.NewEncoder(w).Encode(fence)
		case <-r.Context().Done():
		}
	case validity.PathRevoked, validity.PathLeft:
		a.revoked <- r.URL.Query().Get("instance")
		w.WriteHeader(http.StatusNoContent)
	}
}

func serves(epoch int64, remaining time.Duration) validity.Answer {
	return validity.Answer{State: validity.Serving, Epoch: epoch,
		Remaining: metav1.Duration{Duration: remaining}}
}

func newHolder(t *testing.T) (*validity.Holder, *answering, *ownershiptest.Clock) {
	t.Helper()
	a := &answering{fence: make(chan validity.FenceAnswer), revoked: make(chan string, 10)}
	server := httptest.NewServer(a)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	clock := &ownershiptest.Clock{}
	clock.Step(time.Hour)
	holder, err := validity.NewHolder(server.URL, "gateway-1", clock, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	return holder, a, clock
}

func TestO8HolderCountsFromBeforeItAsked(t *testing.T) {
	t.Parallel()
	holder, a, clock := newHolder(t)
	a.set(serves(3, 5*time.Second), func() { clock.Step(2 * time.Second) })
	if err := holder.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := holder.Term().Remaining(); got != 3*time.Second {
		t.Errorf("an answer of 5 s that took 2 s gives %v", got)
	}
	clock.Step(time.Second)
	a.set(serves(3, time.Second), nil)
	if err := holder.Ask(t.Context()); err != nil || holder.Term().Remaining() != 2*time.Second {
		t.Errorf("a shorter answer gives %v: %v", holder.Term().Remaining(), err)
	}
	a.set(serves(3, time.Second), func() { clock.Step(time.Minute) })
	if err := holder.Ask(t.Context()); err != nil || holder.Term().Valid() {
		t.Errorf("an answer that is older than what it gives: valid %v, %v", holder.Term().Valid(), err)
	}
}

func TestO8HolderOfANewEpochHasANewTerm(t *testing.T) {
	t.Parallel()
	holder, a, _ := newHolder(t)
	a.set(serves(3, time.Minute), nil)
	if err := holder.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	old, changed := holder.Term(), holder.Changed()
	a.set(serves(4, time.Minute), nil)
	if err := holder.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	if old.Valid() || !holder.Term().Valid() || holder.Term().Epoch() != 4 {
		t.Errorf("old valid %v; new of epoch %d valid %v", old.Valid(), holder.Term().Epoch(), holder.Term().Valid())
	}
	select {
	case <-changed:
	default:
		t.Error("the change of term was not reported")
	}
}

func TestO8HolderOfALapsedGuardSaysSo(t *testing.T) {
	t.Parallel()
	holder, a, _ := newHolder(t)
	a.set(validity.Answer{State: validity.Suspended, Epoch: 3}, nil)
	if err := holder.Ask(t.Context()); !errors.Is(err, validity.ErrLapsed) || holder.Term().Valid() {
		t.Errorf("error is %v", err)
	}
}

func TestO8HolderThatHasLeftIsNotValidAgain(t *testing.T) {
	t.Parallel()
	holder, a, _ := newHolder(t)
	a.set(serves(3, time.Hour), nil)
	if err := holder.Ask(t.Context()); err != nil || !holder.Term().Valid() {
		t.Fatalf("valid %v: %v", holder.Term().Valid(), err)
	}
	before := holder.Term()
	if err := holder.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if name := <-a.revoked; name != "gateway-1" || before.Valid() {
		t.Errorf("%q has left, still valid %v", name, before.Valid())
	}
	// A question that was under way when it left.
	if err := holder.Ask(t.Context()); err != nil || holder.Term().Valid() {
		t.Errorf("valid again %v: %v", holder.Term().Valid(), err)
	}
}

func TestO8HolderThatConfirmedARevocationIgnoresALateAnswer(t *testing.T) {
	t.Parallel()
	holder, a, clock := newHolder(t)
	a.set(serves(3, time.Hour), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	informed := make(chan struct{}, 1)
	go holder.Run(ctx, time.Second, func() { informed <- struct{}{} })
	ownershiptest.Eventually(t, "validity", func() bool { return holder.Term().Valid() })

	// The next question is on its way when the guard is fenced.
	release := make(chan struct{})
	asked := make(chan struct{}, 1)
	a.set(serves(3, time.Hour), func() {
		asked <- struct{}{}
		<-release
	})
	// the term waits for its end, too
	ownershiptest.Eventually(t, "the pause before the next question", func() bool { return clock.Waiting() > 1 })
	clock.Step(time.Second)
	<-asked
	a.fence <- validity.FenceAnswer{Epoch: 3, Fenced: true}
	if holder := <-a.revoked; holder != "gateway-1" {
		t.Errorf("%q confirmed", holder)
	}
	select {
	case <-informed:
	default:
		t.Error("the revocation was confirmed before the holder's user was informed")
	}
	a.set(serves(3, time.Hour), nil)
	close(release)
	if err := holder.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	if holder.Term().Valid() {
		t.Error("a late answer of the fenced epoch revived the holder")
	}
	a.set(serves(4, time.Hour), nil)
	if err := holder.Ask(t.Context()); err != nil || !holder.Term().Valid() {
		t.Errorf("a later epoch is refused: %v", err)
	}
}
