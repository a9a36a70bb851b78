package world

import (
	"context"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/expression"
)

func observeCloud(ctx context.Context, w World) *expression.Cloud {
	seen := &expression.Cloud{Unknown: expression.Unknown{}}
	c := w.Cloud()
	if c == nil {
		return &expression.Cloud{Unknown: expression.Unknown{"*": "there is no cloud"}}
	}
	for field, kind := range map[string]struct {
		into *int
		list func() (int, error)
	}{
		"networks":      {&seen.Networks, count(ctx, c.Networks())},
		"machines":      {&seen.Machines, count(ctx, c.Machines())},
		"loadBalancers": {&seen.LoadBalancers, count(ctx, c.LoadBalancers())},
		"volumes":       {&seen.Volumes, count(ctx, c.Volumes())},
		"buckets":       {&seen.Buckets, count(ctx, c.Buckets())},
	} {
		number, err := kind.list()
		if err != nil {
			seen.Unknown[field] = err.Error()
		}
		*kind.into = number
	}
	return seen
}

func count[T any](ctx context.Context, all cloud.Collection[T]) func() (int, error) {
	return func() (int, error) {
		list, err := all.List(ctx, cloud.Filter{})
		return len(list), err
	}
}
