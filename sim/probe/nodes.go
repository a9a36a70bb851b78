package probe

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Nodes looks at a shoot's nodes and their leases, past every link, and records what changes.
type Nodes struct {
	Shoot   string
	Actor   string
	Connect access.Connector

	seen gathering[timeline.NodeSeen]
}

var _ Watched = &Nodes{}

// Name of the probe.
func (n *Nodes) Name() string { return timeline.NodesOf(n.Shoot) }

// Pace of samples.
func (n *Nodes) Pace() Pace { return gatheringPace }

// Sample lists nodes and leases.
func (n *Nodes) Sample(ctx context.Context, to timeline.Recorder) error {
	return n.seen.sample(ctx, n.view(to))
}

// Follow watches nodes and leases.
func (n *Nodes) Follow(ctx context.Context, to timeline.Recorder) error {
	return n.seen.follow(ctx, n.view(to))
}

func (n *Nodes) view(to timeline.Recorder) view[timeline.NodeSeen] {
	return view[timeline.NodeSeen]{
		connect: n.Connect,
		sources: func(c kubernetes.Interface) []source {
			return []source{
				sourceOf("nodes", c.CoreV1().Nodes()),
				sourceOf("the nodes' leases", c.CoordinationV1().Leases(corev1.NamespaceNodeLease)),
			}
		},
		describe: func(there []map[string]runtime.Object) map[string]timeline.NodeSeen {
			return describeNodes(of[*corev1.Node](there[0]), of[*coordinationv1.Lease](there[1]))
		},
		gone: func(name string) timeline.NodeSeen { return timeline.NodeSeen{Name: name, Gone: true} },
		note: func(seen timeline.NodeSeen) {
			to.Record(timeline.Event{Actor: n.Actor, Subject: n.Shoot, Payload: seen})
		},
	}
}

func describeNodes(nodes []*corev1.Node, leases []*coordinationv1.Lease) map[string]timeline.NodeSeen {
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
