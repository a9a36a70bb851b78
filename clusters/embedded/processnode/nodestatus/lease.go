package nodestatus

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaseSeconds is how long the node counts as alive after a heartbeat.
const leaseSeconds = int32(40)

// KeepLease renews the node's lease until ctx is done. A node without one is taken for dead after 40 seconds.
func (n *Node) KeepLease(ctx context.Context) {
	for {
		limited, cancel := context.WithTimeout(ctx, heartbeat)
		err := n.renewLease(limited)
		cancel()
		wait := heartbeat
		if err != nil && ctx.Err() == nil {
			n.Log.Error(err, "Heartbeat is not written")
			wait = time.Second
		}
		timer := n.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

func (n *Node) renewLease(ctx context.Context) error {
	leases := n.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NewMicroTime(n.Clock.Now())
	lease, err := leases.Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		registered, err := n.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{}) // the lease goes with it
		if err != nil {
			return fmt.Errorf("read the node %q: %w", n.Name, err)
		}
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.Name,
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: registered.Name, UID: registered.UID},
			}}}
		n.fill(lease, now)
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create the node's lease: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the node's lease: %w", err)
	}
	n.fill(lease, now)
	if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("renew the node's lease: %w", err)
	}
	return nil
}

func (n *Node) fill(lease *coordinationv1.Lease, now metav1.MicroTime) {
	seconds := leaseSeconds
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &n.Name, &seconds, &now
}
