package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// agentLeasePrefix, followed by a node's name, is the Lease in kube-system by which its agent says that it runs
// (docs/specification/care.md#spec-5-4).
const agentLeasePrefix = "gardener-node-agent-"

// renewAgents says of the agents of the nodes, which are played here, that they run. It does so as often as kwok says
// it of the kubelets: after a quarter of the time that a lease lasts.
func (s *shoot) renewAgents(ctx context.Context, machines []*machine, nodes map[string]*corev1.Node) error {
	now, renewed := s.clock.Now(), map[types.UID]time.Time{}
	var errs []error
	for _, node := range nodesOf(machines, nodes) {
		if last, known := s.renewed[node.UID]; known && now.Sub(last) < s.leaseDuration()/4 {
			renewed[node.UID] = last
			continue
		}
		if err := s.renewAgent(ctx, node, now); err != nil {
			errs = append(errs, err)
			continue
		}
		renewed[node.UID] = now
	}
	s.renewed = renewed
	return errors.Join(errs...)
}

// nodesOf are the nodes that have their machines: those that live.
func nodesOf(machines []*machine, nodes map[string]*corev1.Node) []*corev1.Node {
	var living []*corev1.Node
	for _, m := range machines {
		if node := nodes[m.nodeName()]; node != nil && node.Spec.ProviderID == m.providerID() {
			living = append(living, node)
		}
	}
	return living
}

// freeLeases makes the leases of the kubelets free for a new kwok, which would wait for their end otherwise. Those of
// nodes that live are renewed, too, as kubelets do within seconds of an answer: it may be a quarter of a lease's time
// until kwok comes to it. It is done once for each kwok that we want, not for one that ends on its own or cannot be
// started: its nodes are not well.
func (s *shoot) freeLeases(ctx context.Context, living []*corev1.Node, leases map[string]*coordinationv1.Lease) error {
	renew := map[string]bool{}
	if s.kwok.process == nil && s.revived <= s.kwok.starts {
		s.revived = s.kwok.starts + 1
		for _, node := range living {
			renew[node.Name] = node.Labels[managedLabel] == managedValue
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(leases)) {
		spec := map[string]any{"holderIdentity": nil}
		switch {
		case renew[name]:
			spec["renewTime"] = metav1.NewMicroTime(s.clock.Now())
		case leases[name].Spec.HolderIdentity == nil:
			continue
		}
		patch, err := json.Marshal(map[string]any{"spec": spec})
		if err == nil {
			_, err = s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(ctx, name, types.MergePatchType, patch,
				metav1.PatchOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("free the lease of node %q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (s *shoot) leaseDuration() time.Duration {
	return time.Duration(s.options.LeaseSeconds) * time.Second
}

// renewAgent writes the Lease of a node's agent. It belongs to the node, and goes with it.
func (s *shoot) renewAgent(ctx context.Context, node *corev1.Node, now time.Time) error {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name:            agentLeasePrefix + node.Name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &node.Name, LeaseDurationSeconds: ptr.To(int32(s.options.LeaseSeconds)),
			RenewTime: ptr.To(metav1.NewMicroTime(now)),
		},
	}
	patch, err := json.Marshal(lease)
	if err != nil {
		return fmt.Errorf("marshal the lease of the agent of node %q: %w", node.Name, err)
	}
	leases := s.client.CoordinationV1().Leases(metav1.NamespaceSystem)
	_, err = leases.Patch(ctx, lease.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew the lease of the agent of node %q: %w", node.Name, err)
	}
	return nil
}
