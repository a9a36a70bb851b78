package story

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/world"
)

// clearTimeout bounds the deletion of all shoots.
const clearTimeout = 3 * time.Minute

// Clear deletes all shoots of a landscape, waits until they, and their control planes, are gone, takes back what
// stories have changed about the cloud profile, and makes anew the actors that have died, so that the next story finds an
// empty stage.
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
	stage := &step.Stage{World: w, Clients: clients, Clock: c}
	asked := map[string]bool{}
	for {
		left := &gardencorev1beta1.ShootList{}
		if err := garden.List(ctx, left); err != nil {
			return fmt.Errorf("list the shoots: %w", err)
		}
		for _, shoot := range left.Items {
			if asked[shoot.Name] {
				continue
			}
			if err := stage.DeleteShoot(ctx, shoot.Name); err != nil {
				return err
			}
			asked[shoot.Name] = true
		}
		planes := controlPlanes(ctx, w, clients)
		if len(left.Items) == 0 && planes == 0 {
			if err := stage.RestoreCloudProfiles(ctx); err != nil {
				return err
			}
			if refresher, can := w.(world.Refresher); can {
				return refresher.Refresh(ctx)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("clear the landscape: %w; %d shoots and %d control planes are left", context.Cause(ctx), len(left.Items), planes)
		case <-c.After(pollInterval):
		}
	}
}

// controlPlanes that are left; those that cannot be counted count as one.
func controlPlanes(ctx context.Context, w world.World, clients *world.Clients) int {
	total := 0
	for _, seed := range world.Observe(ctx, w, clients, world.Query{Seeds: w.Seeds()}).Seeds {
		total += seed.Shoots
		if _, unknown := seed.Unknown["shoots"]; unknown {
			total++
		}
	}
	return total
}
