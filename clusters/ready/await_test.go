package ready_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/transplant-sim/transplant/clusters/ready"
)

func TestAwait(t *testing.T) {
	t.Parallel()
	errMissing, errLost := errors.New("it is missing"), errors.New("it is lost")
	asked := 0
	err := ready.Await(t.Context(), time.Millisecond, 0, func(context.Context) error {
		if asked++; asked < 3 {
			return errMissing
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Errorf("there at the third look: %v after %d looks", err, asked)
	}
	synctest.Test(t, func(t *testing.T) { // else all of the time may be over before the first look
		err := ready.Await(t.Context(), time.Millisecond, 20*time.Millisecond, func(ctx context.Context) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errMissing
		})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errMissing) {
			t.Errorf("never there: %v, want the deadline and the last answer", err)
		}
	})
	asked = 0
	err = ready.Await(t.Context(), time.Millisecond, 0, func(context.Context) error {
		if asked++; asked < 2 {
			return errMissing
		}
		return ready.Never(errLost)
	})
	if !errors.Is(err, errLost) || errors.Is(err, errMissing) || asked != 2 {
		t.Errorf("lost at the second look: %v after %d looks", err, asked)
	}
}
