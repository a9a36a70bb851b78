package harm

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/clusters/ready"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// refreshPoll is the time between two looks whether the new pods are ready.
const refreshPoll = 50 * time.Millisecond

// Refresh implements world.World: what has been restarted in a pod waits longer each time before it is started
// again. Faults of the cloud that nobody could heal go, too.
func (i *Injector) Refresh(ctx context.Context) error {
	admin, err := i.on.Environment.CloudAs(i.on.Landscape, environment.CloudAdmin)
	if err != nil {
		return err
	}
	if err := endFaults(ctx, admin); err != nil {
		return err
	}
	if err := refresh(ctx, i.on.Garden, landscape.Garden); err != nil {
		return err
	}
	for _, seed := range i.on.Seeds() {
		if err := refresh(ctx, i.on.SeedClients[seed], seed); err != nil {
			return err
		}
	}
	return nil
}

// refresh puts new pods in the place of those actors whose containers have been restarted, and waits until they are
// ready, for as long as ctx lets it.
func refresh(ctx context.Context, c client.Client, cluster string) error {
	err := ready.Await(ctx, refreshPoll, 0, func(ctx context.Context) error { return refreshOnce(ctx, c) })
	if err != nil {
		return fmt.Errorf("put new pods in the place of restarted ones in cluster %q: %w", cluster, err)
	}
	return nil
}

// refreshOnce does what can be done now. Its error says what is still to be done.
func refreshOnce(ctx context.Context, c client.Client) error {
	deployments, pods := &appsv1.DeploymentList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{deployments, pods} {
		if err := c.List(ctx, list); err != nil {
			return err
		}
	}
	wanted := 0
	for _, d := range deployments.Items {
		if environment.IsActor(&d.Spec.Template.Spec) {
			wanted += int(ptr.Deref(d.Spec.Replicas, 1))
		}
	}
	old, ready := 0, 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch owner := metav1.GetControllerOf(pod); {
		case owner == nil || owner.Kind != "ReplicaSet" || !environment.IsActor(&pod.Spec):
		case pod.DeletionTimestamp != nil:
			old++
		case slices.ContainsFunc(pod.Status.ContainerStatuses, restarted):
			old++
			if err := c.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
				return err
			}
		case len(pod.Status.ContainerStatuses) > 0 && !slices.ContainsFunc(pod.Status.ContainerStatuses, unready):
			ready++
		}
	}
	if old > 0 || ready < wanted {
		return fmt.Errorf("%d pods are to go, %d of %d are ready", old, ready, wanted)
	}
	return nil
}

func restarted(status corev1.ContainerStatus) bool { return status.RestartCount > 0 }

func unready(status corev1.ContainerStatus) bool { return !status.Ready }
