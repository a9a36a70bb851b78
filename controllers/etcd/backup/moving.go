package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
)

const (
	// stallPatience bounds how long content may stand still on its way. How long it takes in all is not bounded: gigabytes
	// over a slow line are as good as any. It is as long because of the end of an upload, when the bucket still takes what
	// kernels and proxies on the way hold already, and nothing is seen to move: some 4 MiB, which get through at 16 KiB a
	// second.
	stallPatience = 5 * time.Minute
	// callPatience bounds a call without content in which nothing moves, and the wait for the next page of a list.
	callPatience = time.Minute
)

// ErrStalled says that a call was given up because nothing moved any more: whoever has accepted it does not answer.
var ErrStalled = errors.New("nothing moves any more")

// moving is a call that may go on for as long as something moves.
type moving struct {
	patience time.Duration
	timer    clock.Timer
	// cause is why its context has ended, nil if it has not; end ends it.
	cause func() error
	end   func()
}

// whileMoving returns a context that ends when nothing has moved for the patience. The caller ends it in any case.
func whileMoving(ctx context.Context, patience time.Duration) (context.Context, *moving) {
	ctx, cancel := context.WithCancelCause(ctx)
	m := &moving{
		patience: patience, timer: clock.RealClock{}.NewTimer(patience),
		cause: func() error { return context.Cause(ctx) }, end: func() { cancel(nil) },
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-m.timer.C():
			cancel(fmt.Errorf("%w, for %v", ErrStalled, patience))
		}
	}()
	return cloud.WithProgress(ctx, m.moved), m
}

func (m *moving) moved() { m.timer.Reset(m.patience) }

// explain adds to the error of the call that it was given up, if it was.
func (m *moving) explain(err error) error {
	if cause := m.cause(); err != nil && errors.Is(cause, ErrStalled) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// reader is content that goes through the call. Who asks for more has moved what came before, and what comes has moved
// itself.
func (m *moving) reader(content io.Reader) io.Reader { return movingReader{content, m} }

type movingReader struct {
	io.Reader
	call *moving
}

// Read implements io.Reader.
func (r movingReader) Read(p []byte) (int, error) {
	r.call.moved()
	n, err := r.Reader.Read(p)
	r.call.moved()
	if errors.Is(err, io.EOF) {
		return n, err
	}
	return n, r.call.explain(err)
}

// movingBody is content that comes with the answer: the call ends when it is closed.
type movingBody struct {
	movingReader
	io.Closer
}

// Close implements io.Closer.
func (b movingBody) Close() error {
	defer b.call.end()
	return b.Closer.Close()
}
