package environment

import (
	"context"
	"fmt"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.ClusterBreaker = &World{}

// LoseCluster implements world.ClusterBreaker. Its hits are the processes that it kills.
func (w *World) LoseCluster(ctx context.Context, name string, wipe bool) (world.Injection, error) {
	cluster, running, err := w.whole(ctx, name)
	if err != nil {
		return world.Injection{}, err
	}
	heal := func(ctx context.Context) error {
		if err := cluster.Return(ctx); err != nil || !wipe {
			return err
		}
		return w.furnish(ctx, name)
	}
	return world.Injection{Heal: heal, Hits: func() int { return running }}, cluster.Lose(ctx, wipe)
}

// FreezeCluster implements world.ClusterBreaker. Its hits are the processes that it stops.
func (w *World) FreezeCluster(ctx context.Context, name string) (world.Injection, error) {
	cluster, running, err := w.whole(ctx, name)
	if err != nil {
		return world.Injection{}, err
	}
	return world.Injection{Heal: cluster.Thaw, Hits: func() int { return running }}, cluster.Freeze(ctx)
}

// whole finds a cluster, and how many processes of it run: its programs and everything in its pods.
func (w *World) whole(ctx context.Context, name string) (cluster breakable, running int, err error) {
	if cluster, err = w.cluster(name); err != nil {
		return nil, 0, err
	}
	if own, can := cluster.(programmed); can {
		for _, program := range landscape.ClusterPrograms() {
			if _, err := own.Program(program); err == nil {
				running++
			}
		}
	}
	pods, err := cluster.Containers(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("count the processes of cluster %q: %w", name, err)
	}
	return cluster, running + len(pods), nil
}

// furnish sets a seed up that was built anew, as when the landscape was made: definitions, identities, actors.
func (w *World) furnish(ctx context.Context, seed string) error {
	if err := w.env.prepareSeed(ctx, w.landscape, w.seeds[seed], seed); err != nil {
		return fmt.Errorf("set up the rebuilt seed %q: %w", seed, err)
	}
	if err := w.env.startSeed(ctx, w.landscape, w.seeds[seed], seed); err != nil {
		return fmt.Errorf("set up the rebuilt seed %q: %w", seed, err)
	}
	return nil
}
