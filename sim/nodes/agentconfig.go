package nodes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/api/cloud"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// dueInPlace says what the node is to be updated to in place, if it is its turn: it is at another InPlace than it is
// configured for, drained, and nothing has come of it yet (docs/specification/versions.md#spec-4-9).
func (s *shoot) dueInPlace(m *machine, node *corev1.Node) (cloud.NodeAgentConfig, bool) {
	config := s.agents[m.data.AgentSecret].NodeAgentConfig
	if config.InPlace == "" || config.InPlace == node.Annotations[cloud.AnnotationInPlace] ||
		node.Labels[machinev1alpha1.LabelUpdateResult] != "" {
		return config, false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == machinev1alpha1.ConditionInPlaceUpdate && condition.Status == corev1.ConditionTrue {
			return config, condition.Reason == machinev1alpha1.ReasonReadyForUpdate
		}
	}
	return config, false
}

// finishInPlace says that the update is done, after it can be seen: whoever reads the label finds the new versions.
func (s *shoot) finishInPlace(ctx context.Context, node *corev1.Node, config cloud.NodeAgentConfig) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q},"labels":{%q:%q}}}`,
		cloud.AnnotationInPlace, config.InPlace, machinev1alpha1.LabelUpdateResult, machinev1alpha1.UpdateSuccessful)
	if _, err := s.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("say that node %q is updated: %w", node.Name, err)
	}
	s.log.Info("Node was updated in place", "node", node.Name, "kubelet", config.KubeletVersion, "image", config.Image)
	return nil
}
