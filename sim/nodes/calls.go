package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/api/cloud"
)

func (s *shoot) listNodes(ctx context.Context) (map[string]*corev1.Node, error) {
	list, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	nodes := map[string]*corev1.Node{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	return nodes, nil
}

func (s *shoot) listLeases(ctx context.Context) (map[string]*coordinationv1.Lease, error) {
	list, err := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the leases of nodes: %w", err)
	}
	leases := map[string]*coordinationv1.Lease{}
	for i := range list.Items {
		leases[list.Items[i].Name] = &list.Items[i]
	}
	return leases, nil
}

func (s *shoot) create(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
}

// detach makes the nodes of machines that are gone fall silent.
func (s *shoot) detach(ctx context.Context, machines []*machine, nodes map[string]*corev1.Node) error {
	alive := map[string]bool{}
	for _, m := range machines {
		alive[m.providerID()] = true
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		node := nodes[name]
		if node.Labels[managedLabel] == "" || !strings.HasPrefix(node.Spec.ProviderID, providerPrefix) ||
			alive[node.Spec.ProviderID] {
			continue
		}
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, managedLabel)
		_, err := s.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("let node %q fall silent: %w", name, err))
			continue
		}
		delete(node.Labels, managedLabel)
		s.log.Info("Node falls silent", "node", name, "machine", node.Spec.ProviderID)
	}
	return errors.Join(errs...)
}

// refresh shows in the Node that its machine has restarted, that its kubelet has another version, or that it is reached
// at another address.
func (s *shoot) refresh(ctx context.Context, m *machine, node *corev1.Node) error {
	status := map[string]any{}
	config, due := s.agents.dueInPlace(m, node)
	if info := s.agents.newInfo(m, node, config, due); len(info) > 0 {
		status["nodeInfo"] = info
	}
	moved := node.DeepCopy()
	answeredAt(moved, m.kubeletAt(s.options.Kubelet))
	if !slices.Equal(moved.Status.Addresses, node.Status.Addresses) ||
		moved.Status.DaemonEndpoints != node.Status.DaemonEndpoints {
		status["addresses"], status["daemonEndpoints"] = moved.Status.Addresses, moved.Status.DaemonEndpoints
	}
	if len(status) == 0 {
		return s.annotateApplied(ctx, m, node)
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("marshal the status of machine %q: %w", m.ID, err)
	}
	if _, err := s.client.CoreV1().Nodes().PatchStatus(ctx, node.Name, patch); err != nil {
		return fmt.Errorf("show the state of machine %q: %w", m.ID, err)
	}
	if due {
		return s.finishInPlace(ctx, node, config)
	}
	return s.annotateApplied(ctx, m, node)
}

// newInfo is what has changed of a Node's information.
func (a agentConfigs) newInfo(m *machine, node *corev1.Node, config cloud.NodeAgentConfig, due bool) map[string]any {
	info := map[string]any{}
	if node.Status.NodeInfo.BootID != m.bootID() {
		info["bootID"] = m.bootID()
	}
	if wanted := a.kubeletVersion(m,
		node.Annotations[cloud.AnnotationInPlace]); node.Status.NodeInfo.KubeletVersion != wanted && wanted != "" {
		info["kubeletVersion"] = wanted
	}
	if due {
		info["kubeletVersion"], info["osImage"] = config.KubeletVersion, config.Image
	}
	return info
}

// stuckPods are those on the nodes that wait for kwok: to run, or to go.
func (s *shoot) stuckPods(ctx context.Context, nodes map[string]*corev1.Node) (map[string]bool, error) {
	// From the watch cache: a little old does not matter, being cheap does.
	list, err := s.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{ResourceVersion: "0",
		FieldSelector: "spec.nodeName!="})
	if err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	stuck := map[string]bool{}
	for _, pod := range list.Items {
		node, there := nodes[pod.Spec.NodeName]
		if !there || node.Labels[managedLabel] == "" {
			continue
		}
		going := pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0
		if going || (pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending) {
			stuck["pod "+pod.Namespace+"/"+pod.Name+" "+string(pod.UID)+" waits"] = true
		}
	}
	return stuck, nil
}
