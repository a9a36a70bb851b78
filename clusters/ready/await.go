package ready

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Await asks what is missing until nothing is. It gives up after within, if that is not zero, and when ctx ends: then
// the error has the last answer, too. An answer of Never ends it at once.
func Await(ctx context.Context, every, within time.Duration, missing func(context.Context) error) error {
	if within != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	var last error
	err := wait.PollUntilContextCancel(ctx, every, true, func(ctx context.Context) (bool, error) {
		answer := missing(ctx)
		if never, is := errors.AsType[neverError](answer); is {
			last = nil
			return false, never.error
		}
		if ctx.Err() == nil || last == nil { // one that was cut short says less than the one before
			last = answer
		}
		return answer == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w; last: %w", err, last)
	}
	return err
}

// Never says that what is missing never comes.
func Never(why error) error {
	if why == nil {
		return nil
	}
	return neverError{why}
}

type neverError struct{ error }
