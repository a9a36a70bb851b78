package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// followPause is how long a follower rests before it is started again.
const followPause = 250 * time.Millisecond

// observers runs probes beside the story, in groups that can be ended one by one.
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
func (c *observers) sample(ctx context.Context, name string, p probe.Probe) {
	c.start(ctx, name, &member{probe: p, looks: looks{probe: p.Name()}}, func(ctx context.Context, l *looks) {
		c.sampleAll(ctx, p, l)
	})
}

// follow lets a follower follow until its group is ended.
func (c *observers) follow(ctx context.Context, name string, f probe.Follower) {
	samples, _ := f.(probe.Probe) // for the last look
	c.start(ctx, name, &member{probe: samples, looks: looks{probe: f.Name()}}, func(ctx context.Context, l *looks) {
		c.followAll(ctx, f, l)
	})
}

// followOnce follows unless the group is there already.
func (c *observers) followOnce(ctx context.Context, name string, f probe.Follower) {
	c.mu.Lock()
	_, there := c.groups[name]
	c.mu.Unlock()
	if !there {
		c.follow(ctx, name, f)
	}
}

func (c *observers) start(ctx context.Context, name string, m *member, work func(context.Context, *looks)) {
	// A probe outlives the step that started it, not the story: stop ends it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.cancel, m.done = cancel, make(chan struct{})
	c.mu.Lock()
	if c.groups[name] == nil {
		c.groups[name] = &group{}
	}
	c.groups[name].members = append(c.groups[name].members, m)
	c.mu.Unlock()
	go func() {
		defer close(m.done)
		work(ctx, &m.looks)
	}()
}

// lastLook ends the probes of a group as end does, and has each sample once more: one whose last sample hung, as on a
// connection to what has moved, may have seen nothing since. A look that fails is taken again, so many times in all;
// what cannot be seen then is told as the last that is heard of it.
func (c *observers) lastLook(ctx context.Context, name string, times int) {
	for _, m := range c.end(name) {
		if m.probe == nil {
			continue
		}
		err := m.looks.ended(sampled(ctx, m.probe, c.record))
		for again := 1; again < times && err != nil; again++ {
			err = m.looks.ended(sampled(ctx, m.probe, c.record))
		}
		c.recordLooks(m, timeline.Looked{Final: true})
		(&complaints{record: c.record, probe: m.probe.Name(), final: true}).note(err)
	}
}

// end ends the probes of a group; it returns them when all samples that were under way have been recorded.
func (c *observers) end(name string) []*member {
	c.mu.Lock()
	g := c.groups[name]
	delete(c.groups, name)
	c.mu.Unlock()
	if g == nil {
		return nil
	}
	for _, m := range g.members {
		m.cancel()
	}
	for _, m := range g.members {
		<-m.done
		c.recordLooks(m, timeline.Looked{Ended: true})
	}
	return g.members
}

// stop ends all groups.
func (c *observers) stop() {
	if c.over != nil {
		c.over()
		c.beats.Wait()
	}
	c.mu.Lock()
	var names []string
	for name := range c.groups {
		names = append(names, name)
	}
	c.mu.Unlock()
	for _, name := range names {
		c.end(name)
	}
}

// sampleAll begins a sample at every tick, as long as not too many are under way. Those under way when ctx ends are
// finished: their requests have been sent, and what became of them must be known.
func (c *observers) sampleAll(ctx context.Context, p probe.Probe, l *looks) {
	pace := p.Pace()
	report := &complaints{record: c.record, probe: p.Name()}
	tickets := make(chan struct{}, pace.Overlap)
	var under sync.WaitGroup
	defer under.Wait()
	ticker := c.clock.NewTicker(pace.Every)
	defer ticker.Stop()
	for {
		select {
		case tickets <- struct{}{}:
			under.Go(func() {
				defer func() { <-tickets }()
				report.note(l.ended(sampled(ctx, p, c.record)))
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

func (c *observers) followAll(ctx context.Context, f probe.Follower, l *looks) {
	report := &complaints{record: c.record, probe: f.Name()}
	for ctx.Err() == nil {
		l.follows.Store(true)
		err := f.Follow(ctx, c.record)
		l.follows.Store(false)
		if ctx.Err() == nil {
			report.note(l.ended(err))
		}
		select {
		case <-ctx.Done():
		case <-c.clock.After(followPause):
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
