// Package faultbook knows the faults of the cloud that are set, finds those that hit a call, and does to the call what
// they do. How faults are set over the API, and what a call is apart from them, the server knows.
package faultbook

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
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

// Book knows the faults that are set and counts their hits.
type Book struct {
	mutex  sync.Mutex
	active []*activeFault // in order of setting
}

// Subject is what a fault can match of a call.
type Subject struct {
	Verb, Kind, ID string
	// Identity is the name of the caller, Shoot that in whose scope it calls.
	Identity, Shoot string
}

// Harm is what faults have done to one call.
type Harm struct {
	// Fault is the name of the fault that has harmed it last; empty when none has.
	Fault string
	// Dropped is whether its answer is to be lost.
	Dropped bool

	numbers map[*turns]int // which one it is of those that count together, from 1; guarded by the book
}

// turns counts the calls that the faults of a group match and hit: a fault by itself is a group of one.
type turns struct{ matched, hits int }

type activeFault struct {
	api.Fault
	turns   *turns
	limiter *rate.Limiter
	clock   clock.PassiveClock
}

// New is without faults.
func New() *Book { return &Book{} }

// Set puts a fault in force, in the place of one with the same name.
func (b *Book) Set(fault api.Fault, clock clock.PassiveClock) {
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

// CheckEffect refuses an effect that is none, or several.
func CheckEffect(e api.Effect) error {
	set := 0
	for _, there := range []bool{e.Error != nil, e.Delay != nil, e.Throttle != nil, e.Quota != nil, e.Drop != "",
		e.BytesPerSecond != 0, e.Damage, e.Missing} {
		if there {
			set++
		}
	}
	switch {
	case set != 1:
		return refusal.Invalid("effect: exactly one field must be set, not %d", set)
	case e.Error != nil && !e.Error.Code.Known():
		return refusal.Invalid("effect.error.code: '%s' is unknown", e.Error.Code)
	case e.Delay != nil && e.Delay.Duration < 0:
		return refusal.Invalid("effect.delay: '%s' is negative", e.Delay.Duration)
	case e.Throttle != nil && (e.Throttle.PerSecond < 0 || e.Throttle.Burst < 0):
		return refusal.Invalid("effect.throttle: rate and burst must not be negative")
	case e.Quota != nil && *e.Quota < 0:
		return refusal.Invalid("effect.quota: %d is negative", *e.Quota)
	case e.Drop != "" && e.Drop != api.DropRequest && e.Drop != api.DropAnswer:
		return refusal.Invalid("effect.drop: '%s' is neither '%s' nor '%s'", e.Drop, api.DropRequest, api.DropAnswer)
	case e.BytesPerSecond < 0:
		return refusal.Invalid("effect.bytesPerSecond: %d is negative", e.BytesPerSecond)
	}
	return nil
}

// Heal ends a fault and returns it with its final counts.
func (b *Book) Heal(name string) (api.Fault, bool) {
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

// List the faults that are set, with their counts.
func (b *Book) List() []api.Fault {
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
func (b *Book) firstHit(c Subject, h *Harm, want func(api.Effect) bool, hit func(*activeFault) bool) (api.Fault, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, active := range b.matching(c, h, want) {
		turns, number := active.turns, h.numbers[active.turns]
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
func (b *Book) matching(c Subject, h *Harm, want func(api.Effect) bool) (found []*activeFault) {
	for _, active := range b.active {
		if !want(active.Effect) || !matchesCall(active.Match, c) {
			continue
		}
		found = append(found, active)
		if h.numbers[active.turns] == 0 {
			if h.numbers == nil {
				h.numbers = map[*turns]int{}
			}
			active.turns.matched++
			h.numbers[active.turns] = active.turns.matched
		}
	}
	return found
}

// count a call for the faults that act before it is carried out.
func (b *Book) count(c Subject, h *Harm) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.matching(c, h, func(e api.Effect) bool {
		return e.Delay != nil || e.Drop != "" || e.Throttle != nil || e.Error != nil
	})
}

func matchesCall(m api.Match, c Subject) bool {
	in := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	return in(m.Kinds, c.Kind) && in(m.Verbs, c.Verb) && in(m.Identities, c.Identity) &&
		in(m.Shoots, c.Shoot) &&
		strings.HasPrefix(c.ID, m.IDPrefix)
}

// ErrDropped says that a call never arrived: it is neither answered nor recorded.
var ErrDropped = errors.New("the request was dropped")

// Before does to a call what faults do before it is carried out: delay, loss, refusal.
func (b *Book) Before(ctx context.Context, c Subject, h *Harm, clock clock.Clock) error {
	b.count(c, h)
	if fault, ok := b.firstHit(c, h, func(e api.Effect) bool { return e.Delay != nil }, nil); ok {
		if err := wait(ctx, clock, fault.Effect.Delay.Duration); err != nil {
			return err
		}
	}
	if _, ok := b.firstHit(c, h, func(e api.Effect) bool { return e.Drop == api.DropRequest }, nil); ok {
		return ErrDropped
	}
	if fault, ok := b.firstHit(c, h, func(e api.Effect) bool { return e.Throttle != nil }, (*activeFault).exhausted); ok {
		h.Fault = fault.ID
		return refusal.Standard(api.CodeRateLimited, c.Kind)
	}
	if fault, ok := b.firstHit(c, h, func(e api.Effect) bool { return e.Error != nil }, nil); ok {
		h.Fault = fault.ID
		return injected(fault.Effect.Error, c.Kind)
	}
	if fault, ok := b.firstHit(c, h, func(e api.Effect) bool { return e.Drop == api.DropAnswer }, nil); ok {
		h.Fault, h.Dropped = fault.ID, true
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
	said := refusal.Standard(e.Code, kind)
	if e.Reason != "" {
		said.Reason = e.Reason
	}
	if e.Message != "" {
		said.Message = e.Message
	}
	return said
}

// Quota refuses a creation when there are as many objects of the kind as a fault allows.
func (b *Book) Quota(c Subject, h *Harm, count int) error {
	fault, ok := b.firstHit(c, h, func(e api.Effect) bool {
		return e.Quota != nil
	}, func(a *activeFault) bool { return count >= *a.Effect.Quota })
	if !ok {
		return nil
	}
	h.Fault = fault.ID
	return refusal.Standard(api.CodeQuotaExceeded, c.Kind)
}

// Missing says whether an object is to look as if it were not there.
func (b *Book) Missing(c Subject, h *Harm) bool {
	_, ok := b.firstHit(c, h, func(e api.Effect) bool { return e.Missing }, nil)
	return ok
}

// Damage alters the content of an object on its way out, if it is to be damaged.
func (b *Book) Damage(c Subject, h *Harm, body io.Reader) io.Reader {
	if _, ok := b.firstHit(c, h, func(e api.Effect) bool { return e.Damage }, nil); !ok {
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

// Slow makes both bodies of a call flow no faster than a fault allows.
func (b *Book) Slow(c Subject, h *Harm, w http.ResponseWriter, r *http.Request, clock clock.Clock) http.ResponseWriter {
	pace := b.pace(r.Context(), clock, Harmed{c, h})
	if pace == nil {
		return w
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{slowReader{r.Body, pace}, r.Body}
	return &slowWriter{ResponseWriter: w, pace: pace}
}

// Harmed is a call that faults may harm.
type Harmed struct {
	Subject
	*Harm
}

// SlowCopy makes content that the cloud itself moves between calls flow no faster than faults allow any of them.
func (b *Book) SlowCopy(ctx context.Context, clock clock.Clock, content io.Reader, calls ...Harmed) io.Reader {
	if pace := b.pace(ctx, clock, calls...); pace != nil {
		return slowReader{content, pace}
	}
	return content
}

// pace waits for as long as so many bytes take at the slowest of the calls; nil if none is slow.
func (b *Book) pace(ctx context.Context, clock clock.Clock, calls ...Harmed) func(bytes int) error {
	var slowest int64
	for _, c := range calls {
		fault, ok := b.firstHit(c.Subject, c.Harm, func(e api.Effect) bool { return e.BytesPerSecond > 0 }, nil)
		if speed := fault.Effect.BytesPerSecond; ok && (slowest == 0 || speed < slowest) {
			slowest = speed
		}
	}
	if slowest == 0 {
		return nil
	}
	return func(n int) error {
		return wait(ctx, clock, time.Duration(n)*time.Second/time.Duration(slowest))
	}
}

// slowChunk is how much flows between two pauses.
const slowChunk = 4096

type slowReader struct {
	io.Reader
	pace func(int) error
}

// Read implements io.Reader.
func (s slowReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p[:min(len(p), slowChunk)])
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
