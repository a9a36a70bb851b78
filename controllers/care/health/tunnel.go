package health

import (
	"errors"
	"fmt"

	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/tunnel"
)

// tunnel looks at the way between the control plane and the nodes (docs/specification/care.md#spec-5-4). To nodes that
// run pods it is measured. Simulated nodes have one way only: they reach their API server through the gateway, and no
// pod stands for it. It is down when the Leases of all nodes have expired. A single silent node does not mean that:
// EveryNodeReady reports it.
func (r round) tunnel() *finding {
	switch {
	case workerless(r.Shoot):
		return nil
	case lifecycle.RealNodes(r.Shoot):
		return tunnelFinding(r.Cluster.Tunnel)
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

// tunnelFinding is what to say of a tunnel that was measured.
func tunnelFinding(err error) *finding {
	if err == nil {
		return nil
	}
	if errors.Is(err, tunnel.ErrNotDeployed) {
		return failure("NoTunnelDeployed", "Tunnel has not been deployed: no pod of it is in the shoot")
	}
	if broken, is := errors.AsType[*tunnel.BrokenError](err); is {
		return failure("TunnelConnectionBroken", fmt.Sprintf("Tunnel connection has not been established: %v", broken.Cause))
	}
	return unseen(fmt.Sprintf("Could not look at the tunnel: %v", err))
}
