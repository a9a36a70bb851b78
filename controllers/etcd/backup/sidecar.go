package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/utils/clock"
)

// retryPause is between two tries of what an unreachable bucket or etcd has refused.
const retryPause = 250 * time.Millisecond

// ErrNotFenced refuses a final snapshot while the epoch may still be served (docs/ownership.md#o4).
var ErrNotFenced = errors.New("no final snapshot: the guard of this epoch is not fenced with all holders revoked")

// Options of a Sidecar.
type Options struct {
	// Client of the etcd beside it.
	Client *clientv3.Client
	Bucket Bucket
	Epoch  int64
	// TempDir holds snapshots on their way to the bucket.
	TempDir string
	// MayEnd returns why no final snapshot may be taken, nil if one may (docs/ownership.md#o3-4).
	MayEnd func() error
	// MayDelete reports whether old objects may be removed: only the valid owner does.
	MayDelete func() bool
	// DeltaInterval bounds the age of what is not backed up yet; FullInterval that of the newest full snapshot.
	DeltaInterval, FullInterval time.Duration
	// DeltaBytes is the size at which a delta is uploaded before its time; PendingBytes what may wait for the bucket.
	DeltaBytes, PendingBytes int
	// KeepFull is how many full snapshots, with the deltas behind them, are kept.
	KeepFull int
	Clock    clock.WithTicker
	Metrics  *Metrics
	Log      logr.Logger
}

// Sidecar backs up one epoch of an etcd: full snapshots on schedule and on demand, and a stream of deltas.
type Sidecar struct {
	options Options
	stream  *stream
	fulls   chan struct{} // holds one while a full snapshot is taken: one at a time

	mu      sync.Mutex
	latest  Latest
	ended   chan struct{} // closed when a final snapshot is asked for
	running sync.WaitGroup
}

// Latest says how far the backup of an epoch has come.
type Latest struct {
	Epoch int64 `json:"epoch"`
	// Revision up to which everything is in the bucket.
	Revision int64 `json:"revision"`
	Full     Saved `json:"full"`
	Delta    Saved `json:"delta"`
	// Final: the epoch has ended with the full snapshot above.
	Final bool `json:"final"`
	// Error of the last try; empty if it succeeded.
	Error string `json:"error,omitempty"`
}

// Saved is one object in the bucket.
type Saved struct {
	Key      string    `json:"key,omitempty"`
	Revision int64     `json:"revision,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

// NewSidecar returns a sidecar that does nothing before Run.
func NewSidecar(o Options) *Sidecar {
	s := &Sidecar{options: o, latest: Latest{Epoch: o.Epoch}, fulls: make(chan struct{}, 1), ended: make(chan struct{})}
	s.stream = &stream{
		client: o.Client, bucket: o.Bucket, epoch: o.Epoch, clock: o.Clock, log: o.Log,
		limits:   streamLimits{interval: o.DeltaInterval, batch: o.DeltaBytes, pending: o.PendingBytes},
		uploaded: s.noteSaved, failed: s.noteError,
	}
	return s
}

// Run backs up until ctx is done, and uploads what is left then. Once a final snapshot is asked for it only waits, also
// if that does not get to the bucket: whoever ends the epoch asks for it again, and needs a sidecar to ask.
func (s *Sidecar) Run(ctx context.Context) error {
	from, err := s.resume(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var schedule sync.WaitGroup
	schedule.Go(func() { s.schedule(ctx) })
	defer schedule.Wait()
	defer cancel()
	for ctx.Err() == nil && !s.hasEnded() {
		if from == 0 {
			full, err := s.Full(ctx)
			if err != nil {
				s.wait(ctx, retryPause)
				continue
			}
			from = full.Last + 1
		}
		err := s.follow(ctx, from)
		from = 0
		switch {
		case err == nil:
		case s.hasEnded():
			s.options.Log.Info("The delta stream has ended before all was uploaded, the final snapshot has it", "reason",
				err.Error())
		case errors.Is(err, errBehind):
			s.options.Log.Info("The delta stream begins anew with a full snapshot", "reason", err.Error())
		default:
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// follow runs the stream until ctx is done or a final snapshot is asked for.
func (s *Sidecar) follow(ctx context.Context, from int64) error {
	ctx, cancel := s.untilEnded(ctx)
	defer cancel()
	s.mu.Lock()
	if s.endedLocked() {
		s.mu.Unlock()
		return nil
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	return s.stream.run(ctx, from)
}

// untilEnded returns a context that ends when a final snapshot is asked for.
func (s *Sidecar) untilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// resume finds how far an earlier sidecar of this epoch has come: the revision to go on from, 0 if a full snapshot is
// needed first.
func (s *Sidecar) resume(ctx context.Context) (int64, error) {
	for {
		objects, err := ObjectsOf(ctx, s.options.Bucket, s.options.Epoch)
		if err == nil {
			return s.resumeFrom(objects), nil
		}
		s.noteError(err)
		switch {
		case s.wait(ctx, retryPause):
		case s.hasEnded():
			return 0, nil // there is nothing to go on with
		default:
			return 0, fmt.Errorf("look for backups of epoch %d: %w", s.options.Epoch, err)
		}
	}
}

func (s *Sidecar) resumeFrom(objects []Object) int64 {
	chains := chainsOf(objects)
	if len(chains) == 0 {
		return 0
	}
	chain := beforeGap(chains[0])
	last := chain[len(chain)-1]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.Full = Saved{Key: chain[0].Key(), Revision: chain[0].Last}
	s.latest.Revision = last.Last
	if last.Kind == Delta {
		s.latest.Delta = Saved{Key: last.Key(), Revision: last.Last}
	}
	if chain[0].Final {
		s.latest.Final = true
		s.endLocked()
	}
	return last.Last + 1
}

// schedule takes full snapshots at their times, and removes what has become old.
func (s *Sidecar) schedule(ctx context.Context) {
	for s.wait(ctx, s.options.FullInterval) {
		if _, err := s.Full(ctx); err != nil {
			continue // noted; the next comes at its time, deltas go on meanwhile
		}
		if s.options.MayDelete() {
			if err := removeOld(ctx, s.options.Bucket, s.options.Epoch, s.options.KeepFull); err != nil {
				s.noteError(err)
			}
		}
	}
}

// wait until d has passed; false if ctx is done or the epoch has ended before.
func (s *Sidecar) wait(ctx context.Context, d time.Duration) bool {
	timer := s.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-s.ended:
		return false
	case <-timer.C():
		return true
	}
}

// tempDir makes the folder for snapshots on their way.
func (s *Sidecar) tempDir() (string, error) {
	if err := os.MkdirAll(s.options.TempDir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for snapshots: %w", err)
	}
	return s.options.TempDir, nil
}
