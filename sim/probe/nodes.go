package probe

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Nodes looks at a shoot's nodes and their leases, past every link, and records what has changed.
type Nodes struct {
	Shoot   string
	Actor   string
	Connect Connector

	kept keptClient
	last map[string]timeline.NodeSeen
}

var _ Probe = &Nodes{}

// Name of the probe.
func (n *Nodes) Name() string { return "nodes of " + n.Shoot }

// Pace is once a second.
func (n *Nodes) Pace() Pace { return Pace{Every: time.Second, Timeout: 3 * time.Second, Overlap: 1} }

// Sample lists nodes and leases.
func (n *Nodes) Sample(ctx context.Context, to timeline.Recorder) error {
	config, err := n.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	client, err := n.kept.get(compact(config))
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	leases, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes' leases: %w", err)
	}
	n.note(to, describeNodes(nodes.Items, leases.Items))
	return nil
}

// Known is how many nodes there were at the last look.
func (n *Nodes) Known() int { return len(n.last) }

func describeNodes(nodes []corev1.Node, leases []coordinationv1.Lease) map[string]timeline.NodeSeen {
	renewed := map[string]string{}
	for _, lease := range leases {
		if lease.Spec.RenewTime != nil {
			renewed[lease.Name] = lease.Spec.RenewTime.UTC().Format(time.RFC3339Nano)
		}
	}
	seen := map[string]timeline.NodeSeen{}
	for _, node := range nodes {
		s := timeline.NodeSeen{
			Name: node.Name, UID: string(node.UID), BootID: node.Status.NodeInfo.BootID,
			ProviderID: node.Spec.ProviderID, Renewed: renewed[node.Name],
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				s.Ready = string(condition.Status)
			}
		}
		seen[node.Name] = s
	}
	return seen
}

func (n *Nodes) note(to timeline.Recorder, seen map[string]timeline.NodeSeen) {
	for _, name := range changed(n.last, seen) {
		now, there := seen[name]
		if !there {
			now = timeline.NodeSeen{Name: name, Gone: true}
		}
		to.Record(timeline.Event{Actor: n.Actor, Subject: n.Shoot, Payload: now})
	}
	n.last = seen
}
