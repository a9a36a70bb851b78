package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/api/cloud"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// WorkloadNamespace is where the workload of every shoot runs.
const WorkloadNamespace = timeline.LoadNamespace

// nodesOf asks the shoot's own API server, past every link, for its nodes and the workload on them.
func nodesOf(ctx context.Context, w World, shoot string) (expression.Workers, error) {
	config, err := w.ConnectShoot(ctx, shoot, Observer)
	if err != nil {
		return expression.Workers{}, fmt.Errorf("connect to the shoot: %w", err)
	}
	client, err := kubernetes.NewForConfig(Unlimited(config))
	if err != nil {
		return expression.Workers{}, fmt.Errorf("make the client of the shoot: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return expression.Workers{}, fmt.Errorf("list the nodes: %w", err)
	}
	pods, err := client.CoreV1().Pods(WorkloadNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return expression.Workers{}, fmt.Errorf("list the workload: %w", err)
	}
	seen := countNodes(nodes.Items)
	cordoned := sets.New[string]()
	for i := range nodes.Items {
		if nodes.Items[i].Spec.Unschedulable {
			cordoned.Insert(nodes.Items[i].Name)
		}
	}
	for i := range pods.Items {
		stays := pods.Items[i].DeletionTimestamp == nil
		tally(&seen.Pods, stays)
		tally(&seen.PodsOnCordoned, stays && cordoned.Has(pods.Items[i].Spec.NodeName))
	}
	return seen, nil
}

func countNodes(nodes []corev1.Node) expression.Workers {
	seen := expression.Workers{All: len(nodes)}
	kubelets, images := sets.New[string](), sets.New[string]()
	for i := range nodes {
		node := &nodes[i]
		tally(&seen.Ready, ready(node))
		tally(&seen.Cordoned, node.Spec.Unschedulable)
		tally(&seen.Waiting, slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == cloud.TaintCriticalComponentsNotReady
		}))
		tally(&seen.Candidates, node.Labels[machinev1alpha1.LabelCandidateForUpdate] != "")
		tally(&seen.Selected, node.Labels[machinev1alpha1.LabelSelectedForUpdate] != "")
		tally(&seen.UpdateFailed, node.Labels[machinev1alpha1.LabelUpdateResult] == machinev1alpha1.UpdateFailed)
		kubelets.Insert(strings.TrimPrefix(node.Status.NodeInfo.KubeletVersion, "v"))
		images.Insert(node.Status.NodeInfo.OSImage)
	}
	seen.Kubelets, seen.Images = sets.List(kubelets), sets.List(images)
	return seen
}

func tally(into *int, one bool) {
	if one {
		*into++
	}
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
