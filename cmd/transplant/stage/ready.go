package stage

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

const (
	actorTimeout = 60 * time.Second
	actorPoll    = 50 * time.Millisecond
)

// awaitActors waits until every Deployment of a cluster is ready: nothing else runs there yet.
func awaitActors(ctx context.Context, c client.Client, cluster string) error {
	var last string
	err := wait.PollUntilContextTimeout(ctx, actorPoll, actorTimeout, true, func(ctx context.Context) (bool, error) {
		deployments := &appsv1.DeploymentList{}
		if err := c.List(ctx, deployments); err != nil {
			return false, err
		}
		for _, d := range deployments.Items {
			if d.Status.ObservedGeneration < d.Generation || d.Status.ReadyReplicas < ptr.Deref(d.Spec.Replicas, 1) {
				last = d.Namespace + "/" + d.Name
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the actor %q of cluster %q (see its pod's log): %w", last, cluster, err)
	}
	return nil
}

// awaitSeed waits until the gardenlet has told the garden that the seed can take shoots, and has its bucket.
func awaitSeed(ctx context.Context, garden client.Client, name string) error {
	err := wait.PollUntilContextTimeout(ctx, actorPoll, actorTimeout, true, func(ctx context.Context) (bool, error) {
		seed := &gardencorev1beta1.Seed{}
		if err := garden.Get(ctx, client.ObjectKey{Name: name}, seed); err != nil {
			return false, err
		}
		if !gardenletReady(seed) {
			return false, nil
		}
		bucket := &gardencorev1beta1.BackupBucket{}
		if err := garden.Get(ctx, client.ObjectKey{Name: string(seed.UID)}, bucket); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		last := bucket.Status.LastOperation
		return last != nil && last.State == gardencorev1beta1.LastOperationStateSucceeded, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the gardenlet of seed %q (see its pod's log): %w", name, err)
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
