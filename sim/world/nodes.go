package world

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/api/cloud"
)

// nodesOf counts the nodes of a shoot, and those of them that wait for their critical components.
func nodesOf(ctx context.Context, w World, shoot string) (all, waiting int, err error) {
	config, err := w.ConnectShoot(ctx, shoot, Observer)
	if err != nil {
		return 0, 0, fmt.Errorf("connect to the shoot: %w", err)
	}
	client, err := kubernetes.NewForConfig(Unlimited(config))
	if err != nil {
		return 0, 0, fmt.Errorf("make the client of the shoot: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, 0, fmt.Errorf("list the nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloud.TaintCriticalComponentsNotReady }) {
			waiting++
		}
	}
	return len(nodes.Items), waiting, nil
}
