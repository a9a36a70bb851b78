package validity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// askDeadline bounds one question to a guard.
const askDeadline = 2 * time.Second

// Holder lives on a guard's validity (docs/ownership.md#spec-9-1, docs/ownership.md#o8): the gateway for a route, a
// controller for a shoot it acts on. It asks, and adds the remaining time of the answer to its own clock as it was
// before it asked; nothing is pushed.
type Holder struct {
	guard  url.URL
	name   string
	client *http.Client
	clock  ownership.Clock

	mu      sync.Mutex
	term    *Term
	revoked int64 // highest epoch whose revocation was heard of
	left    bool
	changed chan struct{}
}

// NewHolder returns a holder that is not valid yet. The guard is the base URL of a guard's API, the transport shows it
// who asks (package etcd/access). The name must be unique among the holders of that identity, a restarted process being
// another holder.
func NewHolder(guard, name string, clock ownership.Clock, transport http.RoundTripper) (*Holder, error) {
	base, err := url.Parse(guard)
	if err != nil {
		return nil, fmt.Errorf("parse the guard's address: %w", err)
	}
	return &Holder{
		guard: *base, name: name, clock: clock, client: &http.Client{Transport: transport},
		term: LapsedTerm(clock, 0), changed: make(chan struct{}),
	}, nil
}

// Term is the present stretch of validity, possibly over. Take it when something begins, and ask that same Term
// before every message: a later Term does not cover what was opened under an earlier one.
func (h *Holder) Term() *Term {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.term
}

// Changed is closed when a new Term has begun.
func (h *Holder) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// Ask asks once and takes in the answer. An error leaves the present term to its own end.
func (h *Holder) Ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askDeadline)
	defer cancel()
	noted := h.clock.Now()
	var answer Answer
	if _, err := h.call(ctx, http.MethodGet, PathValidity, &answer); err != nil {
		return fmt.Errorf("ask the guard for validity: %w", err)
	}
	h.note(answer, noted)
	if answer.Remaining.Duration <= 0 {
		return fmt.Errorf("ask the guard of epoch %d, which is %s: %w", answer.Epoch, answer.State, ErrLapsed)
	}
	return nil
}

func (h *Holder) note(answer Answer, noted ownership.Instant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left || answer.Epoch <= h.revoked {
		return // asked before the revocation or the end, answered after they were reported
	}
	until := noted.Add(answer.Remaining.Duration)
	if answer.State == Fenced || answer.Epoch != h.term.Epoch() {
		h.term.End()
	}
	if answer.Remaining.Duration <= 0 || until.Sub(h.clock.Now()) <= 0 || h.term.Extend(until) {
		return
	}
	h.term = NewTerm(h.clock, answer.Epoch, until)
	close(h.changed)
	h.changed = make(chan struct{})
}

// Run asks the guard every interval, more often while there is no validity, and gives up its validity as soon as the
// guard is fenced, until ctx is done. Then it calls revoked, unless nil, and confirms to the guard when that returns:
// nothing may be passed any more by then.
func (h *Holder) Run(ctx context.Context, interval time.Duration, revoked func()) {
	go h.followRevocation(ctx, interval, revoked)
	for ctx.Err() == nil {
		_ = h.Ask(ctx) // an unanswered question needs no word: the term runs out by itself
		pause := interval
		if !h.Term().Valid() {
			pause = interval / 4 // somebody waits for it
		}
		select {
		case <-ctx.Done():
		case <-h.clock.After(pause):
		}
	}
	h.Term().End()
}

// Leave ends the holder for good and informs the guard, so that a fence need not wait until what it was granted has
// lapsed. Nothing may be passed any more when it is called. It is a courtesy: without it the guard waits.
func (h *Holder) Leave(ctx context.Context) error {
	h.mu.Lock()
	h.left = true
	h.term.End()
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askDeadline)
	defer cancel()
	if _, err := h.call(ctx, http.MethodPost, PathLeft, nil); err != nil {
		return fmt.Errorf("take leave of the guard: %w", err)
	}
	return nil
}

func (h *Holder) followRevocation(ctx context.Context, interval time.Duration, revoked func()) {
	for ctx.Err() == nil {
		var fence FenceAnswer
		status, err := h.call(ctx, http.MethodGet, PathRevocation, &fence)
		if err == nil && status == http.StatusOK && fence.Fenced {
			h.revoke(fence.Epoch)
			if revoked != nil {
				revoked()
			}
			_, err = h.call(ctx, http.MethodPost, PathRevoked, nil)
		}
		if err == nil && status == http.StatusNoContent {
			continue
		}
		select {
		case <-ctx.Done():
		case <-h.clock.After(interval):
		}
	}
}

func (h *Holder) revoke(epoch int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.revoked = max(h.revoked, epoch)
	if h.term.Epoch() <= epoch {
		h.term.End()
	}
}

func (h *Holder) call(ctx context.Context, method, path string, into any) (int, error) {
	address := h.guard.JoinPath(path)
	address.RawQuery = url.Values{"instance": {h.name}}.Encode()
	return call(ctx, h.client, method, address.String(), into)
}

func call(ctx context.Context, client *http.Client, method, address string, into any) (int, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return 0, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return response.StatusCode, fmt.Errorf("%s: %s", response.Status, body)
	}
	if into != nil && len(body) > 0 {
		if err := json.Unmarshal(body, into); err != nil {
			return 0, errors.Join(errors.New("decode the guard's answer"), err)
		}
	}
	return response.StatusCode, nil
}
