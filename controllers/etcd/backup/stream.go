package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/controllers/etcd/backup/delta"
)

// errBehind says that the stream has lost touch: etcd has compacted what comes next, or too much waits for the bucket.
// Only a full snapshot helps.
var errBehind = errors.New("the delta stream has fallen behind")

// uploadDeadline bounds one try to upload a delta.
const uploadDeadline = 10 * time.Second

// streamLimits bound the stream.
type streamLimits struct {
	// interval is the longest an event waits for its upload to begin.
	interval time.Duration
	// batch is the size in bytes at which a delta is uploaded before its time.
	batch int
	// pending is the size in bytes of what may wait for an unreachable bucket.
	pending int
}

// stream follows etcd's changes and uploads them as deltas.
type stream struct {
	client *clientv3.Client
	bucket Bucket
	epoch  int64
	limits streamLimits
	clock  clock.WithTicker
	log    logr.Logger
	leases delta.LeaseCache
	// uploaded is called for every delta that is in the bucket, in order.
	uploaded func(object Object, size int)
	// failed is called for every try that failed.
	failed func(error)

	next    int64 // the revision to watch from, after what is pending
	pending batch
	flight  *flight
}

// batch is what is to become one delta.
type batch struct {
	events []*mvccpb.Event
	bytes  int
}

// flight is a delta under way to the bucket. It is sent again as it is until it has arrived.
type flight struct {
	batch
	object  Object
	content []byte
	running bool
	done    chan error
}

// run follows etcd from the revision until ctx is done, and then uploads what is left. It returns errBehind when only
// a full snapshot can help.
func (s *stream) run(ctx context.Context, from int64) error {
	s.next, s.pending, s.flight = from, batch{}, nil
	ticker := s.clock.NewTicker(s.limits.interval)
	defer ticker.Stop()
	for {
		watchCtx, cancel := context.WithCancel(ctx)
		watch := s.client.Watch(watchCtx, "", clientv3.WithPrefix(), clientv3.WithRev(s.next))
		err := s.follow(ctx, watch, ticker)
		cancel()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return s.finish(ctx)
		}
	}
}

// follow returns nil when the watch is over and should be opened again, or ctx is done.
func (s *stream) follow(ctx context.Context, watch clientv3.WatchChan, ticker clock.Ticker) error {
	for {
		var landed chan error
		if s.flight != nil && s.flight.running {
			landed = s.flight.done
		}
		select {
		case <-ctx.Done():
			return nil
		case response, open := <-watch:
			if response.CompactRevision != 0 {
				return fmt.Errorf("%w: etcd has compacted revision %d", errBehind, s.next)
			}
			if !open || response.Err() != nil {
				s.pause(ctx, ticker)
				return nil
			}
			if err := s.take(ctx, response.Events); err != nil {
				return err
			}
		case <-ticker.C():
			s.send(ctx)
		case err := <-landed:
			s.land(ctx, err)
		}
	}
}

// pause waits a tick before a broken watch is opened again.
func (s *stream) pause(ctx context.Context, ticker clock.Ticker) {
	select {
	case <-ctx.Done():
	case <-ticker.C():
		s.send(ctx)
	}
}

func (s *stream) take(ctx context.Context, events []*clientv3.Event) error {
	for _, event := range events {
		s.pending.events = append(s.pending.events, event)
		s.pending.bytes += proto.Size(event.Kv)
		s.next = event.Kv.ModRevision + 1
	}
	if s.pending.bytes > s.limits.pending {
		return fmt.Errorf("%w: %d bytes wait for the bucket", errBehind, s.pending.bytes)
	}
	if s.pending.bytes >= s.limits.batch {
		s.send(ctx)
	}
	return nil
}

// send starts an upload unless one is running or there is nothing to send.
func (s *stream) send(ctx context.Context) {
	if s.flight == nil {
		if len(s.pending.events) == 0 {
			return
		}
		s.flight = &flight{batch: s.pending, done: make(chan error, 1)}
		s.pending = batch{}
	}
	if s.flight.running {
		return
	}
	s.flight.running = true
	go func(f *flight) { f.done <- s.upload(ctx, f) }(s.flight)
}

func (s *stream) upload(ctx context.Context, f *flight) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), uploadDeadline)
	defer cancel()
	if f.content == nil {
		content, err := delta.Encode(f.events, s.leases.Of(ctx, s.client, f.events))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		f.content = content
		f.object = Object{
			Epoch: s.epoch, Kind: Delta, SHA256: hex.EncodeToString(sum[:]),
			First: f.events[0].Kv.ModRevision, Last: f.events[len(f.events)-1].Kv.ModRevision,
		}
	}
	err := s.bucket.Create(ctx, f.object.Key(), bytes.NewReader(f.content))
	if errors.Is(err, ErrExists) {
		return nil // the answer of an earlier try was lost
	}
	return err
}

// land takes in the outcome of an upload. A failed one is tried again at the next tick.
func (s *stream) land(ctx context.Context, err error) {
	s.flight.running = false
	if err != nil {
		s.log.Error(err, "A delta has not reached the bucket and is tried again", "pendingBytes", s.pending.bytes)
		s.failed(err)
		return
	}
	s.uploaded(s.flight.object, len(s.flight.content))
	s.flight = nil
	if s.pending.bytes >= s.limits.batch {
		s.send(ctx)
	}
}

// finish uploads what is left, once, within a bound of its own.
func (s *stream) finish(ctx context.Context) error {
	for s.flight != nil || len(s.pending.events) > 0 {
		s.send(ctx)
		err := <-s.flight.done
		s.land(ctx, err)
		if err != nil {
			return fmt.Errorf("upload the last delta: %w", err)
		}
	}
	return nil
}
