package environment

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.Refresher = &World{}

// Refresh implements world.Refresher: what has been restarted in a pod waits longer each time before it is started
// again. Faults of the cloud that nobody could heal go, too.
func (w *World) Refresh(ctx context.Context) error {
	admin, err := w.env.CloudAs(w.landscape, cloudAdmin)
	if err != nil {
		return err
	}
	if err := endFaults(ctx, admin); err != nil {
		return err
	}
	if err := refresh(ctx, w.garden, landscape.Garden); err != nil {
		return err
	}
	for _, seed := range w.Seeds() {
		if err := refresh(ctx, w.seeds[seed], seed); err != nil {
			return err
		}
	}
	return nil
}

// refresh puts new pods in the place of those actors whose containers have been restarted, and waits until they are
// ready, for as long as ctx lets it.
func refresh(ctx context.Context, c client.Client, cluster string) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, actorPoll, true, func(ctx context.Context) (bool, error) {
		last = refreshOnce(ctx, c)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("put new pods in the place of restarted ones in cluster %q: %w; last: %w", cluster, err, last)
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
		if isActor(&d.Spec.Template.Spec) {
			wanted += int(ptr.Deref(d.Spec.Replicas, 1))
		}
	}
	old, ready := 0, 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch owner := metav1.GetControllerOf(pod); {
		case owner == nil || owner.Kind != "ReplicaSet" || !isActor(&pod.Spec):
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

// isActor leaves out what a backend brings along, such as a cluster's DNS: no scenario kills it, and it takes its time
// to end.
func isActor(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool {
		return c.Image == image || isThirdParty(c)
	})
}

// isThirdParty says whether a container is one of a third-party extension.
func isThirdParty(c corev1.Container) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == landscape.ActorVariable })
}

func restarted(status corev1.ContainerStatus) bool { return status.RestartCount > 0 }

func unready(status corev1.ContainerStatus) bool { return !status.Ready }
