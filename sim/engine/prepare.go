package engine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
)

// prepare makes the load's namespace and one pod on every node.
func prepare(ctx context.Context, by clock.Clock, client kubernetes.Interface, shoot landscape.Shoot) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: probe.Namespace}}
	err := poll(ctx, by, "the namespace of the load", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), err
	})
	if err != nil {
		return err
	}
	if shoot.Workers == 0 {
		return nil
	}
	var nodes []corev1.Node
	err = poll(ctx, by, fmt.Sprintf("%d ready nodes", shoot.Workers), func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		nodes = readyNodes(list.Items)
		return len(nodes) == shoot.Workers, fmt.Errorf("%d of %d nodes are ready", len(nodes), len(list.Items))
	})
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := place(ctx, by, client, node.Name); err != nil {
			return err
		}
	}
	return poll(ctx, by, "the workload", func(ctx context.Context) (bool, error) {
		return allRunning(ctx, client, len(nodes))
	})
}

// place puts a pod on a node directly: shoots have no scheduler. The namespace's ServiceAccount may still be missing.
func place(ctx context.Context, by clock.Clock, client kubernetes.Interface, node string) error {
	no := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "on-" + node, Labels: map[string]string{"app": "transplant-workload"}},
		Spec: corev1.PodSpec{
			NodeName: node, AutomountServiceAccountToken: &no,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "work", Image: "transplant.dev/work:dev"}},
		},
	}
	return poll(ctx, by, "a pod on node "+node, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Pods(probe.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), err
	})
}

func readyNodes(all []corev1.Node) []corev1.Node {
	var ready []corev1.Node
	for _, node := range all {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready = append(ready, node)
			}
		}
	}
	return ready
}

func allRunning(ctx context.Context, client kubernetes.Interface, want int) (bool, error) {
	pods, err := client.CoreV1().Pods(probe.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	running := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	return running >= want, fmt.Errorf("%d of %d pods are running", running, want)
}

// poll looks until there is what is awaited, or ctx ends; then the error says how far it had come.
func poll(ctx context.Context, by clock.Clock, what string, look func(context.Context) (bool, error)) error {
	for {
		there, err := look(ctx)
		if there {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; last: %w", what, context.Cause(ctx), err)
		case <-by.After(pollInterval):
		}
	}
}
