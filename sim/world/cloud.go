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
	for field, err := range map[string]error{
		"networks":      count(ctx, c.Networks(), &seen.Networks),
		"machines":      count(ctx, c.Machines(), &seen.Machines),
		"loadBalancers": count(ctx, c.LoadBalancers(), &seen.LoadBalancers),
		"volumes":       count(ctx, c.Volumes(), &seen.Volumes),
		"buckets":       count(ctx, c.Buckets(), &seen.Buckets),
	} {
		if err != nil {
			seen.Unknown[field] = err.Error()
		}
	}
	return seen
}

func count[T any](ctx context.Context, all cloud.Collection[T], into *int) error {
	list, err := all.List(ctx, cloud.Filter{})
	*into = len(list)
	return err
}
