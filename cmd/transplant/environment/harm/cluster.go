package harm

import (
	"context"
	"fmt"

	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/observe"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// LoseCluster implements world.Breaker. Its hits are the processes that it kills.
func (i *Injector) LoseCluster(ctx context.Context, name string, wipe bool) (world.Injection, error) {
	cluster, running, err := i.whole(ctx, name)
	if err != nil {
		return world.Injection{}, err
	}
	heal := func(ctx context.Context) error {
		if wipe && name == landscape.Garden {
			if err := environment.RestoreGarden(ctx, i.on.Landscape); err != nil {
				return err
			}
			return cluster.Return(ctx)
		}
		if err := cluster.Return(ctx); err != nil || !wipe || !i.OwnsAPIServer(name) {
			return err // what a seed knows that is a shoot was not on its disks
		}
		return i.on.Environment.RebuildSeed(ctx, i.on.Landscape, i.on.SeedClients[name], name)
	}
	return world.Injection{Heal: heal, Hits: func() int { return running }}, cluster.Lose(ctx, wipe)
}

// FreezeCluster implements world.Breaker. Its hits are the processes that it stops.
func (i *Injector) FreezeCluster(ctx context.Context, name string) (world.Injection, error) {
	cluster, running, err := i.whole(ctx, name)
	if err != nil {
		return world.Injection{}, err
	}
	return world.Injection{Heal: cluster.Thaw, Hits: func() int { return running }}, cluster.Freeze(ctx)
}

// OwnsAPIServer implements world.Hosting.
func (i *Injector) OwnsAPIServer(cluster string) bool {
	return !environment.IsHosted(i.on.Landscape, cluster)
}

// whole finds a cluster, and how many processes of it run: its programs and everything in its pods.
func (i *Injector) whole(ctx context.Context, name string) (cluster observe.Cluster, running int, err error) {
	if cluster, err = i.on.Cluster(name); err != nil {
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
