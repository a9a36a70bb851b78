package environment

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/ready"
)

const (
	// actorTimeout is long, for a machine that is slow.
	actorTimeout = 3 * time.Minute
	actorPoll    = 50 * time.Millisecond
)

// awaitActors waits until every Deployment of a cluster is available: nothing else runs there yet.
func awaitActors(ctx context.Context, c client.Client, cluster string) error {
	err := ready.Await(ctx, actorPoll, actorTimeout, func(ctx context.Context) error { return CheckActors(ctx, c) })
	if err != nil {
		return fmt.Errorf("wait for the actors of cluster %q: %w", cluster, err)
	}
	return nil
}

// CheckActors names the first Deployment of a cluster that is not available.
func CheckActors(ctx context.Context, c client.Client) error {
	deployments := &appsv1.DeploymentList{}
	if err := c.List(ctx, deployments); err != nil {
		return err
	}
	for _, d := range deployments.Items {
		if d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas < ptr.Deref(d.Spec.Replicas, 1) {
			return fmt.Errorf("%s/%s is not available", d.Namespace, d.Name)
		}
	}
	return nil
}

// awaitSeed waits until the gardenlet has reported to the garden that the seed can take shoots, and has its bucket.
func awaitSeed(ctx context.Context, garden client.Client, name string) error {
	err := ready.Await(ctx, actorPoll, actorTimeout, func(ctx context.Context) error {
		seed := &gardencorev1beta1.Seed{}
		if err := garden.Get(ctx, client.ObjectKey{Name: name}, seed); err != nil {
			return err
		}
		if !gardenletReady(seed) {
			return errors.New("it is not ready")
		}
		bucket := &gardencorev1beta1.BackupBucket{}
		if err := garden.Get(ctx, client.ObjectKey{Name: string(seed.UID)}, bucket); err != nil {
			return err
		}
		if last := bucket.Status.LastOperation; last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded {
			return fmt.Errorf("the backup bucket %q is not ready", bucket.Name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for the gardenlet of seed %q: %w", name, err)
	}
	return nil
}

func gardenletReady(seed *gardencorev1beta1.Seed) bool {
	for _, condition := range seed.Status.Conditions {
		if condition.Type == gardencorev1beta1.SeedGardenletReady {
			return condition.Status == gardencorev1beta1.ConditionTrue
		}
	}
	return false
}
