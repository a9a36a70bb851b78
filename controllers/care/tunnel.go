package care

import "fmt"

// tunnel looks at the way between the control plane and the nodes (docs/specification/care.md#spec-5-4). There is one
// way only, by which nodes reach their API server through the gateway, and no pod that stands for it: it is broken when
// nothing of any node has come by it for as long as leases last. A single node that is silent has broken no tunnel, and
// is what EveryNodeReady is about.
func (r round) tunnel() *Finding {
	if workerless(r.Shoot) {
		return nil
	}
	if err := r.Cluster.Nodes.Err; err != nil {
		return unseen(fmt.Sprintf("Could not list the nodes: %v", err))
	}
	if err := r.Cluster.NodeLeases.Err; err != nil {
		return unseen(fmt.Sprintf("Could not list the leases of the nodes: %v", err))
	}
	names, preserved := map[string]bool{}, r.preserved()
	for i := range r.Cluster.Nodes.Items {
		if n := &r.Cluster.Nodes.Items[i]; !preserved(n) {
			names[n.Name] = true
		}
	}
	silent := 0
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
	return broken("TunnelConnectionBroken",
		fmt.Sprintf("Tunnel connection has not been established: the leases of all nodes are expired (%d/%d)", silent,
			len(names)))
}
