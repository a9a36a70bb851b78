package chaosmesh

import (
	"context"
	"fmt"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/world"
)

// planPod: pods are deleted, their containers killed, or killed and kept down.
func planPod(c *v1alpha1.PodChaos) plan {
	spec := &c.Spec
	p := plan{action: string(spec.Action), mode: spec.Mode, needs: world.BreakPods, mesh: podsApplied(spec)}
	switch spec.Action {
	case v1alpha1.PodKillAction:
		p.inject = func(ctx context.Context, w world.World, cluster string) (world.Injection, error) {
			return deletePods(ctx, w, cluster, spec)
		}
	case v1alpha1.ContainerKillAction:
		p.inject = func(ctx context.Context, w world.World, cluster string) (world.Injection, error) {
			return breakPods(ctx, w, cluster, spec.ContainerSelector, false)
		}
	case v1alpha1.PodFailureAction:
		p.duration = spec.Duration
		p.inject = func(ctx context.Context, w world.World, cluster string) (world.Injection, error) {
			return breakPods(ctx, w, cluster, v1alpha1.ContainerSelector{PodSelector: spec.PodSelector}, true)
		}
	default:
		p.lackAction(p.action, actionsOf("PodChaos"))
	}
	return p
}

// deletePods as Chaos Mesh does: whoever owns them makes new ones.
func deletePods(ctx context.Context, w world.World, cluster string, spec *v1alpha1.PodChaosSpec) (world.Injection,
	error) {
	pods, err := choose(ctx, w, cluster, spec.PodSelector)
	if err != nil {
		return world.Injection{}, err
	}
	config, err := w.Connect(cluster)
	if err != nil {
		return world.Injection{}, fmt.Errorf("connect to cluster %q: %w", cluster, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return world.Injection{}, fmt.Errorf("make a client for cluster %q: %w", cluster, err)
	}
	deleted := 0
	for _, pod := range pods {
		options := metav1.DeleteOptions{GracePeriodSeconds: &spec.GracePeriod,
			Preconditions: &metav1.Preconditions{UID: &pod.UID}}
		switch err := client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options); {
		case err == nil:
			deleted++
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err): // else it is another by now, or none
			return world.Injection{}, fmt.Errorf("delete the pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return world.Injection{Heal: func(context.Context) error { return nil }, Hits: func() int { return deleted }}, nil
}

func breakPods(ctx context.Context, w world.World, cluster string, s v1alpha1.ContainerSelector,
	keepDown bool) (world.Injection, error) {
	pods, err := choose(ctx, w, cluster, s.PodSelector)
	if err != nil || len(pods) == 0 {
		return nothing(), err
	}
	var uids []types.UID
	for _, pod := range pods {
		uids = append(uids, pod.UID)
	}
	return w.BreakPods(ctx, cluster, uids, s.ContainerNames, keepDown)
}
