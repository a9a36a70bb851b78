package environment

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

const (
	// actorTimeout is long, for a machine that is slow.
	actorTimeout = 3 * time.Minute
	actorPoll    = 50 * time.Millisecond
)

// Await polls until nothing is missing any more, at most for so long; missing says what is. A request that fails
// is made again: a server that starts, or a busy machine, may take longer for one than a client waits.
func Await(ctx context.Context, timeout time.Duration, missing func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, actorPoll, timeout, true, func(ctx context.Context) (bool, error) {
		err := missing(ctx)
		if ctx.Err() == nil || last == nil { // one that was cut short says less than the one before
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w; last: %w", err, last)
	}
	return nil
}

// awaitActors waits until every Deployment of a cluster is available: nothing else runs there yet.
func awaitActors(ctx context.Context, c client.Client, cluster string) error {
	err := Await(ctx, actorTimeout, func(ctx context.Context) error { return CheckActors(ctx, c) })
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
	err := Await(ctx, actorTimeout, func(ctx context.Context) error {
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
