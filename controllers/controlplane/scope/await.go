package scope

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// firstLive is after how long a wait asks the API server for the first time, if the cache never says that it is worth
// while: the answer may be there already, and a cache that has stopped does not know it.
const firstLive = time.Second

// Await is Until for what the watches behind the Bell see of the seed. look is given what it reads from: first Watched,
// which says when it is worth while to ask, and then the API server, whose answer decides. Whatever the cache says, and
// however often the Bell rings, the API server is asked after a second or the fallback interval, whichever is shorter,
// then at each fallback interval since it was asked, and when the time is up.
func (s *Scope) Await(ctx context.Context, timeout time.Duration, what string,
	look func(ctx context.Context, seed client.Reader) error) error {
	return await(ctx, s, s.Namespace(), timeout, what, s.Watched, s.Seed, look)
}

// AwaitEntry is Await for the BackupEntry of a name in the garden, for which the Bell rings.
func (s *Scope) AwaitEntry(ctx context.Context, name string, timeout time.Duration, what string,
	look func(ctx context.Context, garden client.Reader) error) error {
	return await(ctx, s, name, timeout, what, s.WatchedGarden, s.Garden, look)
}

func await(ctx context.Context, s *Scope, name string, timeout time.Duration, what string,
	watched, from client.Reader, look func(context.Context, client.Reader) error) error {
	due := s.Clock.Now().Add(min(firstLive, s.WaitInterval))
	live := func(ctx context.Context) error {
		err := look(ctx, from)
		due = s.Clock.Now().Add(s.WaitInterval)
		return err
	}
	return waiting{
		look: func(ctx context.Context) error {
			if watched != nil && s.Clock.Now().Before(due) {
				err := look(ctx, watched)
				if permanent := (permanentError{}); err != nil && !errors.As(err, &permanent) {
					return err
				}
			}
			return live(ctx)
		},
		last:  live,
		pause: func() time.Duration { return due.Sub(s.Clock.Now()) },
	}.wait(ctx, s, name, timeout, what)
}
