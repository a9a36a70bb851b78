package load

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Reachability tries up to ten times a second, on a new connection each, whether a shoot's API answers by its public
// name. It asks for something that only a working store can answer.
type Reachability struct {
	Shoot   string
	Actor   string
	Connect access.Connector
	// Beside is how many shoots are tried beside each other, this one among them: the more, the less often each.
	Beside int

	kept access.Kept[http.RoundTripper]
}

var _ probe.Probe = &Reachability{}

// Name of the probe.
func (r *Reachability) Name() string { return timeline.ReachabilityOf(r.Shoot) }

// Pace is ten times a second, and for all shoots together fifty times: with twenty of them, ten times each were most of
// a core.
func (r *Reachability) Pace() probe.Pace {
	return probe.Pace{Every: max(100*time.Millisecond, time.Duration(r.Beside)*20*time.Millisecond), Timeout: time.Second,
		Overlap: 20}
}

// Sample tries once. Not to be reached is a finding, not an error.
func (r *Reachability) Sample(ctx context.Context, to timeline.Recorder) error {
	config, err := r.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	transport, err := r.kept.Get(config, world.FreshTransport)
	if err != nil {
		return err
	}
	seen := timeline.Reached{Sent: timeline.Moment(to.Now())}
	seen.Outcome, seen.Error = world.Reach(ctx, transport, config.Host)
	seen.Answered = timeline.Moment(to.Now())
	to.Record(timeline.Event{Actor: r.Actor, Subject: r.Shoot, Payload: seen})
	return nil
}
