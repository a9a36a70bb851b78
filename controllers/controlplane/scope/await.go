package scope

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Await is Until for what the watches behind the Bell see of the seed. look is given what it reads from: first Watched,
// which says when it is worth while to ask, and then the API server, whose answer decides. A cache that has stopped
// costs one WaitInterval: then the API server is asked, whatever the cache says.
func (s *Scope) Await(ctx context.Context, timeout time.Duration, what string,
	look func(ctx context.Context, seed client.Reader) error) error {
	asked := s.Clock.Now()
	return s.Until(ctx, timeout, what, func(ctx context.Context) error {
		if s.Watched != nil && s.Clock.Since(asked) < s.WaitInterval {
			err := look(ctx, s.Watched)
			if permanent := (permanentError{}); err != nil && !errors.As(err, &permanent) {
				return err
			}
		}
		asked = s.Clock.Now()
		return look(ctx, s.Seed)
	})
}
