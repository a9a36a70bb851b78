package nodes

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// roleLabel is the label of what an object is for.
const roleLabel = "gardener.cloud/role"

// agentConfig is the configuration that nodes get as they run, with its checksum.
type agentConfig struct {
	cloud.NodeAgentConfig
	checksum string
}

// agentConfigs are what nodes are configured for as they run, by the names of the Secrets.
type agentConfigs map[string]agentConfig

// listAgents reads the configurations that nodes get as they run.
func (s *shoot) listAgents(ctx context.Context) (agentConfigs, error) {
	// From the watch cache: a little old does not matter, being cheap does.
	list, err := s.client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{ResourceVersion: "0",
		LabelSelector: roleLabel + "=" + cloud.NodeAgentRole})
	if err != nil {
		return nil, fmt.Errorf("list the configurations of node agents: %w", err)
	}
	agents := agentConfigs{}
	for _, secret := range list.Items {
		config := agentConfig{checksum: secret.Annotations[constants.ChecksumNodeConfig]}
		if err := json.Unmarshal(secret.Data[cloud.NodeAgentConfigKey], &config.NodeAgentConfig); err != nil {
			return nil, fmt.Errorf("read the configuration of node agents in secret %q: %w", secret.Name, err)
		}
		agents[secret.Name] = config
	}
	return agents, nil
}

// applied is the checksum of the configuration that the node got last, if it has applied that: a node that is at
// another InPlace applies nothing before its update.
func (a agentConfigs) applied(m *machine, inPlace string) string {
	if config, configured := a[m.data.AgentSecret]; configured && config.InPlace == inPlace {
		return config.checksum
	}
	return ""
}

// kubeletVersion is that of the configuration that the node got last, or that its machine booted with; empty for what
// it has: a node that is at another InPlace than it is configured for takes nothing over before its update.
func (a agentConfigs) kubeletVersion(m *machine, inPlace string) string {
	config, configured := a[m.data.AgentSecret]
	switch {
	case configured && config.KubeletVersion != "" && config.InPlace == inPlace:
		return config.KubeletVersion
	case config.InPlace == "" && m.data.InPlace == inPlace:
		return m.data.KubeletVersion
	}
	return ""
}

// dueInPlace says what the node is to be updated to in place, if it is its turn: it is at another InPlace than it is
// configured for, drained, and nothing has come of it yet (docs/specification/versions.md#spec-4-9).
func (a agentConfigs) dueInPlace(m *machine, node *corev1.Node) (cloud.NodeAgentConfig, bool) {
	config := a[m.data.AgentSecret].NodeAgentConfig
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

// apply brings the machine to the configuration that its node got last, if it is the node's turn, and returns the
// checksum of that. The files are there before anybody is shown the checksum.
func (s *shoot) apply(m *machine, inPlace string) (checksum string, err error) {
	checksum = s.agents.applied(m, inPlace)
	if checksum == "" || s.laidOut[m.ID] == checksum {
		return checksum, nil
	}
	if err := m.applyFiles(s.options.RootDir, s.agents[m.data.AgentSecret].Files); err != nil {
		return "", err
	}
	s.laidOut[m.ID] = checksum
	return checksum, nil
}

// annotateApplied writes on the Node which configuration its agent has applied last.
func (s *shoot) annotateApplied(ctx context.Context, m *machine, node *corev1.Node) error {
	checksum, err := s.apply(m, node.Annotations[cloud.AnnotationInPlace])
	if err != nil || checksum == "" || node.Annotations[constants.ChecksumAppliedNodeConfig] == checksum {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, constants.ChecksumAppliedNodeConfig, checksum)
	if _, err := s.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("say what the agent of node %q has applied: %w", node.Name, err)
	}
	return nil
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
