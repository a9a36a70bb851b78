// Package probe looks at the world during a run, one file per thing that is looked at. A probe records and
// never judges; what it cannot see it reports as an error, which the engine records as unknown.
//
// The engine owns a probe's life: when it samples, how many samples may be under way, and when it ends.
package probe

import (
	"context"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Probe looks at one thing again and again.
type Probe interface {
	Name() string
	// Pace says how often to sample.
	Pace() Pace
	// Sample looks once. An error says that it could not see.
	Sample(ctx context.Context, to timeline.Recorder) error
}

// Pace of a probe.
type Pace struct {
	// Every is the time between the beginnings of two samples.
	Every time.Duration
	// Timeout bounds one sample.
	Timeout time.Duration
	// Overlap is how many samples may be under way at once. What measures outages must not be slowed down by them.
	Overlap int
}

// Follower looks at one thing for as long as it can be looked at; when it returns, the engine starts it again.
type Follower interface {
	Name() string
	Follow(ctx context.Context, to timeline.Recorder) error
}

// Watched is what is followed, and can be looked at once more when it is followed no longer.
type Watched interface {
	Probe
	Follower
}

// Namespace of everything that probes write into a shoot.
const Namespace = world.WorkloadNamespace
