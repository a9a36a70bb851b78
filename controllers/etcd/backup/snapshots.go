package backup

import (
	"context"
	"fmt"
)

// Full takes an ordinary full snapshot now.
func (s *Sidecar) Full(ctx context.Context) (Object, error) {
	if s.hasEnded() {
		return Object{}, fmt.Errorf("take a full snapshot: epoch %d has ended", s.options.Epoch)
	}
	// The final one does not wait for it, and has all that it has.
	ctx, cancel := s.untilEnded(ctx)
	defer cancel()
	return s.full(ctx, false)
}

// Final ends the epoch: the delta stream stops for good, and a full snapshot is uploaded that is marked final
// (docs/ownership.md#o3-4, docs/ownership.md#o11). It may be repeated: there is only one final snapshot. Whoever asks
// for it may give up, and ask again: it goes on, as it may take longer than anybody has patience for one question.
func (s *Sidecar) Final(ctx context.Context) (Object, error) {
	if err := s.options.MayEnd(); err != nil {
		return Object{}, err
	}
	s.mu.Lock()
	s.endLocked()
	s.mu.Unlock()
	s.running.Wait()
	return s.full(ctx, true)
}

func (s *Sidecar) full(ctx context.Context, final bool) (Object, error) {
	select {
	case s.fulls <- struct{}{}:
		defer func() { <-s.fulls }()
	case <-ctx.Done():
		return Object{}, fmt.Errorf("wait for the full snapshot before: %w", context.Cause(ctx))
	}
	if final {
		ctx = context.WithoutCancel(ctx)
		existing, err := FinalSnapshot(ctx, s.options.Bucket, s.options.Epoch)
		if err != nil {
			return Object{}, s.noted(err)
		}
		if existing != nil {
			s.noteSaved(*existing, 0)
			return *existing, nil
		}
	}
	folder, err := s.tempDir()
	if err != nil {
		return Object{}, s.noted(err)
	}
	object, err := uploadFull(ctx, s.options.Client, s.options.Bucket, s.options.Epoch, final, folder)
	if err != nil {
		s.options.Log.Error(err, "A full snapshot has not reached the bucket", "final", final)
		return Object{}, s.noted(err)
	}
	s.options.Log.Info("Full snapshot uploaded", "revision", object.Last, "final", final)
	s.noteSaved(object, 0)
	return object, nil
}

// Latest says how far the backup has come.
func (s *Sidecar) Latest() Latest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

// noteSaved a snapshot. The size is that of a delta.
func (s *Sidecar) noteSaved(object Object, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	saved := &s.latest.Full
	if object.Kind == Delta {
		saved = &s.latest.Delta
	}
	*saved = Saved{Key: object.Key(), Revision: object.Last, Time: now}
	s.latest.Revision = max(s.latest.Revision, object.Last)
	s.latest.Final = s.latest.Final || object.Final
	s.latest.Error = ""
	s.options.Metrics.saved(object, size, now)
}

func (s *Sidecar) noteError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.Error = err.Error()
	s.options.Metrics.failed()
}

func (s *Sidecar) noted(err error) error {
	s.noteError(err)
	return err
}

func (s *Sidecar) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endedLocked()
}

func (s *Sidecar) endedLocked() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (s *Sidecar) endLocked() {
	if !s.endedLocked() {
		close(s.ended)
	}
}
