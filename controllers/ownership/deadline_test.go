package ownership_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

// silent is an authority that accepts calls and never answers: reads from an instant on, writes that have happened or
// not.
type silent struct {
	ownership.Authority
	clock             ownership.Clock
	reads             bool
	from              time.Duration // of silent reads
	writes, happening bool
}

func (s silent) Read(ctx context.Context) (ownership.Record, ownership.Version, error) {
	if s.reads && time.Duration(s.clock.Now()) >= s.from {
		<-ctx.Done()
		return ownership.Record{}, "", ctx.Err()
	}
	return s.Authority.Read(ctx)
}

func (s silent) CompareAndSet(ctx context.Context, old ownership.Version, record ownership.Record) error {
	if !s.writes {
		return s.Authority.CompareAndSet(ctx, old, record)
	}
	if s.happening {
		if err := s.Authority.CompareAndSet(ctx, old, record); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

// silences are the calls of one take-over, by seed b of a shoot that a holds with epoch 3, that are not answered.
type silences struct {
	claim, decision silent
	binding, bucket bool
	started         int64 // by b itself
}

// takeOver runs it and returns how long that took and how often the two authorities were written.
func (s silences) takeOver(ctx context.Context) (epoch int64, took time.Duration, writes [2]int, err error) {
	clock, claim, decision, before := ownershiptest.NewTime(), &ownershiptest.Authority{}, &ownershiptest.Authority{}, self
	if s.started > 0 {
		before = at(s.started)
	}
	claim.Set(before)
	decision.Set(before)
	s.claim.Authority, s.claim.clock = claim, clock
	s.decision.Authority, s.decision.clock = decision, clock
	unless := func(ctx context.Context, silent bool) error {
		if silent {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	takeover := &ownership.Takeover{
		Owner: "uid-b", Seed: "b", Claim: s.claim, Decision: s.decision, Clock: clock, Timing: timing, Started: s.started,
		BoundTo:       func(ctx context.Context) (string, error) { return "b", unless(ctx, s.binding) },
		FinalSnapshot: func(ctx context.Context, _ int64) (bool, error) { return false, unless(ctx, s.bucket) },
	}
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	epoch, err = takeover.Run(ctx)
	return epoch, time.Duration(clock.Now()), [2]int{len(claim.Writes()), len(decision.Writes())}, err
}

// Whoever accepts a call and never answers is as good as one that refuses it: a take-over then writes nothing further,
// and its wait ends at W.
func TestNobodyHoldsATakeOverUpBySilence(t *testing.T) {
	t.Parallel()
	const once, wait = 5 * time.Second, 6500 * time.Millisecond
	for name, c := range map[string]struct {
		silences
		epoch  int64  // of success
		err    string // else
		takes  time.Duration
		writes [2]int
	}{
		"claim, before the writes":    {silences{claim: silent{reads: true}}, 0, "read the claim", once, [2]int{0, 0}},
		"decision, before the writes": {silences{decision: silent{reads: true}}, 0, "read the decision", once, [2]int{0, 0}},
		"binding":                     {silences{binding: true}, 0, "read the shoot's binding", once, [2]int{0, 0}},
		"claim, not written":          {silences{claim: silent{writes: true}}, 0, "write the claim", once, [2]int{0, 0}},
		"decision, not written": {silences{decision: silent{writes: true}}, 0, "write the decision", once,
			[2]int{1, 0}},
		"claim, written": {silences{claim: silent{writes: true, happening: true}}, 4, "", once + wait,
			[2]int{1, 1}},
		"decision, written": {silences{decision: silent{writes: true, happening: true}}, 4, "", once + wait,
			[2]int{1, 1}},
		"claim, after the wait": {silences{claim: silent{reads: true, from: time.Second}}, 0, "read the claim",
			wait + once, [2]int{1, 1}},
		"decision, after the wait": {silences{decision: silent{reads: true, from: time.Second}}, 0, "read the decision",
			wait + once, [2]int{1, 1}},
		"bucket":                      {silences{bucket: true}, 4, "", wait, [2]int{1, 1}},
		"bucket, of what has started": {silences{bucket: true, started: 3}, 3, "", once, [2]int{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				epoch, took, writes, err := c.takeOver(t.Context())
				failed := errors.Is(err, context.DeadlineExceeded) && strings.HasPrefix(err.Error(), c.err)
				if epoch != c.epoch || failed != (c.err != "") {
					t.Errorf("epoch %d: %v, want %d: %s", epoch, err, c.epoch, c.err)
				}
				if took != c.takes {
					t.Errorf("it took %v, want %v", took, c.takes)
				}
				if diff := cmp.Diff(c.writes, writes); diff != "" {
					t.Errorf("writes of claim and decision (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// All shoots of a gardenlet ask the same CloudTXT.
func TestASilentSearchForAZoneHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	asked, silence := make(chan struct{}, 1), make(chan struct{})
	answers := &dns{version: 1, values: []string{"owner=uid-a epoch=1 seed=a"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/zones" && len(asked) == 0 {
			asked <- struct{}{}
			<-silence
			return
		}
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(silence) })
	client, err := cloud.New(&rest.Config{Host: server.URL}, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	txt := &ownership.CloudTXT{Client: client}
	stuck, giveUp := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, _, err := txt.GetTXT(stuck, "owner.beta.p.shoots.transplant.test")
		first <- err
	}()
	ownershiptest.Eventually(t, "the search", func() bool { return len(asked) == 1 })
	second := make(chan error, 1)
	go func() {
		_, _, err := txt.GetTXT(t.Context(), "owner.alpha.p.shoots.transplant.test")
		second <- err
	}()
	select {
	case err := <-second:
		if err != nil {
			t.Errorf("the other gets %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the other waits too")
	}
	giveUp()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the search ended with %v", err)
	}
}
