package engine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/world"
)

// clearTimeout bounds the deletion of all shoots. It is long for a machine that is slow: nothing waits for it
// otherwise.
const clearTimeout = 5 * time.Minute

// Clear makes a landscape empty for the next run. It deletes all shoots, and waits until they and their control planes
// are gone. It restores the cloud profiles that runs have changed, and replaces the actors that have died.
func Clear(ctx context.Context, w world.World, c clock.Clock) error {
	ctx, cancel := context.WithTimeoutCause(ctx, clearTimeout, fmt.Errorf("not done within %s", clearTimeout))
	defer cancel()
	clients, err := world.NewClients(w)
	if err != nil {
		return err
	}
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	env := &step.Environment{World: w, Clients: clients, Clock: c}
	asked := map[string]bool{}
	err = poll(ctx, c, "an empty landscape", func(ctx context.Context) (bool, error) {
		left := deleteShoots(ctx, garden, env, asked)
		if left == nil {
			if planes := controlPlanes(ctx, w, clients); planes > 0 {
				left = fmt.Errorf("%d control planes are left", planes)
			}
		}
		if left == nil {
			left = env.RestoreCloudProfiles(ctx)
		}
		return left == nil, left
	})
	if err != nil {
		return fmt.Errorf("clear the landscape: %w", err)
	}
	return w.Refresh(ctx)
}

// deleteShoots asks for the deletion of every shoot once, and says how many are left. A request that fails is made
// again: a busy machine may take longer for one than a client waits.
func deleteShoots(ctx context.Context, garden client.Client, env *step.Environment, asked map[string]bool) error {
	left := &gardencorev1beta1.ShootList{}
	if err := garden.List(ctx, left); err != nil {
		return fmt.Errorf("list the shoots: %w", err)
	}
	for _, shoot := range left.Items {
		if asked[shoot.Name] {
			continue
		}
		if err := env.DeleteShoot(ctx, shoot.Name); err != nil {
			return err
		}
		asked[shoot.Name] = true
	}
	if len(left.Items) > 0 {
		return fmt.Errorf("%d shoots are left", len(left.Items))
	}
	return nil
}

// controlPlanes that are left; those that cannot be counted count as one.
func controlPlanes(ctx context.Context, w world.World, clients *world.Clients) int {
	total := 0
	query := world.Query{Seeds: w.Seeds(), Fields: []string{"shoots"}}
	for _, seed := range world.Observe(ctx, w, clients, query).Seeds {
		total += seed.Shoots
		if _, unknown := seed.Unknown["shoots"]; unknown {
			total++
		}
	}
	return total
}
