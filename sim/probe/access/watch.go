package access

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
)

// ErrWatchEnded says that a server has ended a watch, as it does with each after a while.
var ErrWatchEnded = errors.New("the watch has ended")

// Events calls take for each event of a watch, until the watch or ctx ends, or take fails. It always returns an error.
// Reflectors and informers are of no use to probes: they begin again by themselves, and do not say so.
func Events(ctx context.Context, stream watch.Interface, take func(watch.Event) error) error {
	_, err := watchtools.UntilWithoutRetry(ctx, stream, func(event watch.Event) (bool, error) {
		if event.Type == watch.Error {
			return false, fmt.Errorf("the watch has ended with an error: %w", apierrors.FromObject(event.Object))
		}
		return false, take(event)
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, watchtools.ErrWatchClosed):
		return ErrWatchEnded
	}
	return err
}
