package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// followPause is how long to wait before a follower is started again.
const followPause = 250 * time.Millisecond

// observers runs probes beside the steps, in groups that can be ended one by one.
type observers struct {
	clock  clock.WithTicker
	record timeline.Recorder

	mu     sync.Mutex
	groups map[string]*group
	over   context.CancelFunc // ends the heartbeat; nil without one
	beats  sync.WaitGroup
}

type group struct {
	members []*member
}

type member struct {
	cancel context.CancelFunc
	done   chan struct{}
	probe  probe.Probe // nil for a follower that cannot sample
	looks  looks
}

func newObservers(c clock.WithTicker, record timeline.Recorder) *observers {
	return &observers{clock: c, record: record, groups: map[string]*group{}}
}

// sample lets a probe sample until its group is ended.
func (o *observers) sample(ctx context.Context, name string, p probe.Probe) {
	o.start(ctx, name, &member{probe: p, looks: looks{probe: p.Name()}}, func(ctx context.Context, l *looks) {
		o.sampleAll(ctx, p, l)
	})
}

// follow lets a follower follow until its group is ended.
func (o *observers) follow(ctx context.Context, name string, f probe.Follower) {
	samples, _ := f.(probe.Probe) // for the last look
	o.start(ctx, name, &member{probe: samples, looks: looks{probe: f.Name()}}, func(ctx context.Context, l *looks) {
		o.followAll(ctx, f, l)
	})
}

// followOnce follows unless the group is there already.
func (o *observers) followOnce(ctx context.Context, name string, f probe.Follower) {
	o.mu.Lock()
	_, there := o.groups[name]
	o.mu.Unlock()
	if !there {
		o.follow(ctx, name, f)
	}
}

func (o *observers) start(ctx context.Context, name string, m *member, work func(context.Context, *looks)) {
	// A probe outlives the step that started it, not the run: stop ends it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.cancel, m.done = cancel, make(chan struct{})
	o.mu.Lock()
	if o.groups[name] == nil {
		o.groups[name] = &group{}
	}
	o.groups[name].members = append(o.groups[name].members, m)
	o.mu.Unlock()
	go func() {
		defer close(m.done)
		work(ctx, &m.looks)
	}()
}

// lastLook ends the probes of a group as end does, and has each sample once more: one whose last sample hung, as on a
// connection to what has moved, may have seen nothing since. A look that fails is repeated, up to that many times in
// all. A failure of the last one is recorded as final.
func (o *observers) lastLook(ctx context.Context, name string, times int) {
	for _, m := range o.end(name) {
		if m.probe == nil {
			continue
		}
		err := m.looks.ended(sampled(ctx, m.probe, o.record))
		for again := 1; again < times && err != nil; again++ {
			err = m.looks.ended(sampled(ctx, m.probe, o.record))
		}
		o.recordLooks(m, timeline.Looked{Final: true})
		(&complaints{record: o.record, probe: m.probe.Name(), final: true}).note(err)
	}
}

// end ends the probes of a group; it returns them when all samples that were under way have been recorded.
func (o *observers) end(name string) []*member {
	o.mu.Lock()
	g := o.groups[name]
	delete(o.groups, name)
	o.mu.Unlock()
	if g == nil {
		return nil
	}
	for _, m := range g.members {
		m.cancel()
	}
	for _, m := range g.members {
		<-m.done
		o.recordLooks(m, timeline.Looked{Ended: true})
	}
	return g.members
}

// stop ends all groups.
func (o *observers) stop() {
	if o.over != nil {
		o.over()
		o.beats.Wait()
	}
	o.mu.Lock()
	names := slices.Collect(maps.Keys(o.groups))
	o.mu.Unlock()
	for _, name := range names {
		o.end(name)
	}
}

// sampleAll begins a sample at every tick, as long as not too many are under way. Those under way when ctx ends are
// finished: their requests have been sent, and what became of them must be known.
func (o *observers) sampleAll(ctx context.Context, p probe.Probe, l *looks) {
	pace := p.Pace()
	report := &complaints{record: o.record, probe: p.Name()}
	tickets := make(chan struct{}, pace.Overlap)
	var under sync.WaitGroup
	defer under.Wait()
	ticker := o.clock.NewTicker(pace.Every)
	defer ticker.Stop()
	for {
		select {
		case tickets <- struct{}{}:
			under.Go(func() {
				defer func() { <-tickets }()
				report.note(l.ended(sampled(ctx, p, o.record)))
			})
		default: // a tick is left out
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

func sampled(ctx context.Context, p probe.Probe, to timeline.Recorder) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Pace().Timeout)
	defer cancel()
	return p.Sample(ctx, to)
}

func (o *observers) followAll(ctx context.Context, f probe.Follower, l *looks) {
	report := &complaints{record: o.record, probe: f.Name()}
	for ctx.Err() == nil {
		l.follows.Store(true)
		err := f.Follow(ctx, o.record)
		l.follows.Store(false)
		if ctx.Err() == nil {
			report.note(l.ended(err))
		}
		select {
		case <-ctx.Done():
		case <-o.clock.After(followPause):
		}
	}
}

// complaints records what a probe could not see, once for as long as it stays the same.
type complaints struct {
	record timeline.Recorder
	probe  string
	final  bool // there is no other look

	mu   sync.Mutex
	last string
}

func (c *complaints) note(err error) {
	text := ""
	if err != nil {
		text = fmt.Sprint(err)
	}
	c.mu.Lock()
	fresh := text != c.last
	c.last = text
	c.mu.Unlock()
	if fresh && text != "" {
		c.record.Record(timeline.Event{Payload: timeline.Unseen{Probe: c.probe, Error: text, Final: c.final}})
	}
}
