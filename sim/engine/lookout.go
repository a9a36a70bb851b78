package engine

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/diagnosis"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/world"
)

// endsGroup is the group of the probes of actors.
const endsGroup = "the actors"

// lookout on the landscape; nil where the world does not know whose pods are.
func (s *scope) lookout() (*diagnosis.Lookout, error) {
	owners, knows := s.World.(world.PodOwners)
	if !knows {
		return nil, nil
	}
	return diagnosis.NewLookout(diagnosis.Options{
		Clusters:   append([]string{landscape.Garden}, s.World.Seeds()...),
		Extensions: s.Scenario.Spec.Landscape.Extensions, Connect: s.World.Connect,
		Owners: owners, Clock: s.Clock, Patience: s.Patience.SetUp,
	})
}

// watchedFor lets something come up that was never up before: it ends early when something is not worth waiting for.
// That is for the time before the first step alone, when no fault is at work yet.
func (r *runner) watchedFor(ctx context.Context, comeUp func(context.Context) error) error {
	lookout, err := r.lookout()
	if err != nil {
		return err
	}
	if lookout == nil {
		return comeUp(ctx)
	}
	watched, stop := lookout.Watch(ctx)
	err = comeUp(watched)
	stop()
	return lookout.Why(ctx, watched, err)
}

// explained adds to an error what is not up now, for what was waited for in the middle of a run.
func (s *scope) explained(ctx context.Context, err error) error {
	if err == nil || errors.Is(ctx.Err(), context.Canceled) { // an interrupt needs no explanation
		return err
	}
	lookout, cannot := s.lookout()
	if lookout == nil || cannot != nil {
		return err
	}
	return lookout.Explain(ctx, err)
}

// followEnds follows the ends of actors, of third-party extensions and of control planes, on every cluster.
func (r *runner) followEnds(ctx context.Context) error {
	owners, knows := r.World.(world.PodOwners)
	if !knows || r.Unwatched {
		return nil
	}
	for _, cluster := range append([]string{landscape.Garden}, r.World.Seeds()...) {
		pods, err := r.clients.Cluster(cluster)
		if err != nil {
			return err
		}
		config, err := r.World.Connect(cluster)
		if err != nil {
			return err
		}
		api, err := kubernetes.NewForConfig(world.Unlimited(config))
		if err != nil {
			return fmt.Errorf("make the client of cluster %q for logs: %w", cluster, err)
		}
		r.observers.follow(ctx, endsGroup, &probe.Ends{
			Cluster: cluster, Pods: pods, API: api, Owners: owners, Since: r.Journal.Started(),
		})
	}
	return nil
}
