package health

import "fmt"

// tunnel looks at the way between the control plane and the nodes (docs/specification/care.md#spec-5-4). There is one
// way only: nodes reach their API server through the gateway, and no pod stands for it. The tunnel is down when the
// Leases of all nodes have expired. A single silent node does not mean that: EveryNodeReady reports it.
func (r round) tunnel() *finding {
	if workerless(r.Shoot) {
		return nil
	}
	if err := r.Cluster.Nodes.Err; err != nil {
		return unseen(fmt.Sprintf("Could not list the nodes: %v", err))
	}
	if err := r.Cluster.NodeLeases.Err; err != nil {
		return unseen(fmt.Sprintf("Could not list the leases of the nodes: %v", err))
	}
	names, silent := nodesOf(r.Observation, r.Now).names(), 0
	for i := range r.Cluster.NodeLeases.Items {
		lease := &r.Cluster.NodeLeases.Items[i]
		switch {
		case !names[lease.Name]:
		case expired(lease, r.Now):
			silent++
		default:
			return nil
		}
	}
	if silent == 0 {
		return nil
	}
	return failure("TunnelConnectionBroken",
		fmt.Sprintf("Tunnel connection has not been established: the leases of all nodes are expired (%d/%d)", silent,
			len(names)))
}
