package cloud

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// faultBook knows the faults that are set and counts their hits.
type faultBook struct {
	mutex  sync.Mutex
	active []*activeFault // in order of setting
}

// turns counts the calls that the faults of a group match and hit: a fault by itself is a group of one.
type turns struct{ matched, hits int }

type activeFault struct {
	api.Fault
	turns   *turns
	limiter *rate.Limiter
	clock   clock.PassiveClock
}

func newFaultBook() *faultBook { return &faultBook{} }

// set puts a fault in force, in the place of one with the same name.
func (b *faultBook) set(fault api.Fault, clock clock.PassiveClock) {
	fault.Matched, fault.Hits = 0, 0
	active := &activeFault{Fault: fault, turns: &turns{}, clock: clock}
	if t := fault.Effect.Throttle; t != nil {
		active.limiter = rate.NewLimiter(rate.Limit(t.PerSecond), t.Burst)
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.active = slices.DeleteFunc(b.active, func(a *activeFault) bool { return a.ID == fault.ID })
	if i := slices.IndexFunc(b.active, func(a *activeFault) bool {
		return a.Group != "" && a.Group == fault.Group
	}); i >= 0 {
		active.turns = b.active[i].turns
	}
	b.active = append(b.active, active)
}

// heal ends a fault and returns it with its final counts.
func (b *faultBook) heal(name string) (api.Fault, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for i, active := range b.active {
		if active.ID == name {
			b.active = slices.Delete(b.active, i, i+1)
			return active.report(), true
		}
	}
	return api.Fault{}, false
}

// report is the fault with its counts.
func (a *activeFault) report() api.Fault {
	a.Matched = a.turns.matched
	return a.Fault
}

func (b *faultBook) list() []api.Fault {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	faults := make([]api.Fault, 0, len(b.active))
	for _, active := range b.active {
		faults = append(faults, active.report())
	}
	return faults
}

// firstHit finds the first fault with such an effect that hits this call, and counts. A fault whose effect depends on
// more than its turn (a rate, a quota) hits only when hit says so.
func (b *faultBook) firstHit(c *call, want func(api.Effect) bool, hit func(*activeFault) bool) (api.Fault, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, active := range b.matching(c, want) {
		turns, number := active.turns, c.numbers[active.turns]
		if active.Nth > 0 && number != active.Nth || number < active.From || active.Times > 0 && turns.hits >= active.Times {
			continue
		}
		if hit != nil && !hit(active) {
			continue
		}
		turns.hits++
		active.Hits++
		return active.Fault, true
	}
	return api.Fault{}, false
}

// matching finds the faults with such an effect that match a call, and counts it for all of them, once: also for those
// that it does not come to, because another hits it.
func (b *faultBook) matching(c *call, want func(api.Effect) bool) (found []*activeFault) {
	for _, active := range b.active {
		if !want(active.Effect) || !matchesCall(active.Match, c) {
			continue
		}
		found = append(found, active)
		if c.numbers[active.turns] == 0 {
			if c.numbers == nil {
				c.numbers = map[*turns]int{}
			}
			active.turns.matched++
			c.numbers[active.turns] = active.turns.matched
		}
	}
	return found
}

// count a call for the faults that act before it is carried out.
func (b *faultBook) count(c *call) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.matching(c, func(e api.Effect) bool { return e.Delay != nil || e.Drop != "" || e.Throttle != nil || e.Error != nil })
}

func matchesCall(m api.Match, c *call) bool {
	in := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	return in(m.Kinds, c.kind) && in(m.Verbs, c.verb) && in(m.Identities, c.identity.name) &&
		in(m.Shoots, c.scope.Shoot) &&
		strings.HasPrefix(c.id, m.IDPrefix)
}

// errDropped says that a call never arrived: it is neither answered nor recorded.
var errDropped = errors.New("the request was dropped")

// before does to a call what faults do before it is carried out: delay, loss, refusal.
func (b *faultBook) before(ctx context.Context, c *call, clock clock.Clock) error {
	b.count(c)
	if fault, ok := b.firstHit(c, func(e api.Effect) bool { return e.Delay != nil }, nil); ok {
		if err := wait(ctx, clock, fault.Effect.Delay.Duration); err != nil {
			return err
		}
	}
	if _, ok := b.firstHit(c, func(e api.Effect) bool { return e.Drop == api.DropRequest }, nil); ok {
		return errDropped
	}
	if fault, ok := b.firstHit(c, func(e api.Effect) bool { return e.Throttle != nil }, (*activeFault).exhausted); ok {
		c.fault = fault.ID
		return standard(api.CodeRateLimited, c.kind)
	}
	if fault, ok := b.firstHit(c, func(e api.Effect) bool { return e.Error != nil }, nil); ok {
		c.fault = fault.ID
		return injected(fault.Effect.Error, c.kind)
	}
	if fault, ok := b.firstHit(c, func(e api.Effect) bool { return e.Drop == api.DropAnswer }, nil); ok {
		c.fault, c.dropped = fault.ID, true
	}
	return nil
}

func wait(ctx context.Context, clock clock.Clock, d time.Duration) error {
	select {
	case <-clock.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *activeFault) exhausted() bool { return !a.limiter.AllowN(a.clock.Now(), 1) }

func injected(e *api.ErrorEffect, kind string) *api.Error {
	refusal := standard(e.Code, kind)
	if e.Reason != "" {
		refusal.Reason = e.Reason
	}
	if e.Message != "" {
		refusal.Message = e.Message
	}
	return refusal
}

// quota refuses a creation when there are as many objects of the kind as a fault allows.
func (b *faultBook) quota(c *call, count int) error {
	fault, ok := b.firstHit(c, func(e api.Effect) bool {
		return e.Quota != nil
	}, func(a *activeFault) bool { return count >= *a.Effect.Quota })
	if !ok {
		return nil
	}
	c.fault = fault.ID
	return standard(api.CodeQuotaExceeded, c.kind)
}

// missing says whether an object is to look as if it were not there.
func (b *faultBook) missing(c *call) bool {
	_, ok := b.firstHit(c, func(e api.Effect) bool { return e.Missing }, nil)
	return ok
}

// damage alters the content of an object on its way out, if it is to be damaged.
func (b *faultBook) damage(c *call, body io.Reader) io.Reader {
	if _, ok := b.firstHit(c, func(e api.Effect) bool { return e.Damage }, nil); !ok {
		return body
	}
	return &damaged{body: body}
}

// damaged flips a bit in the first byte of every read, so that any content that is not empty is altered.
type damaged struct{ body io.Reader }

func (d *damaged) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	if n > 0 {
		p[0] ^= 1
	}
	return n, err
}

// slow makes both bodies of a call flow no faster than a fault allows.
func (b *faultBook) slow(c *call, w http.ResponseWriter, r *http.Request, clock clock.Clock) http.ResponseWriter {
	fault, ok := b.firstHit(c, func(e api.Effect) bool { return e.BytesPerSecond > 0 }, nil)
	if !ok {
		return w
	}
	pace := func(n int) error {
		return wait(r.Context(), clock, time.Duration(n)*time.Second/time.Duration(fault.Effect.BytesPerSecond))
	}
	r.Body = &slowBody{ReadCloser: r.Body, pace: pace}
	return &slowWriter{ResponseWriter: w, pace: pace}
}

// slowChunk is how much flows between two pauses.
const slowChunk = 4096

type slowBody struct {
	io.ReadCloser
	pace func(int) error
}

func (s *slowBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p[:min(len(p), slowChunk)])
	if waitErr := s.pace(n); waitErr != nil {
		return n, waitErr
	}
	return n, err
}

type slowWriter struct {
	http.ResponseWriter
	pace func(int) error
}

func (s *slowWriter) Write(p []byte) (written int, err error) {
	for chunk := range slices.Chunk(p, slowChunk) {
		if err := s.pace(len(chunk)); err != nil {
			return written, err
		}
		n, err := s.ResponseWriter.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Unwrap lets http.ResponseController reach the connection.
func (s *slowWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
