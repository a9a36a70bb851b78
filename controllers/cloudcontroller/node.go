package cloudcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
)

const (
	// providerPrefix begins the provider ids of the nodes whose machines are this cloud's.
	providerPrefix = "transplant:///"
	// nodePoll is how often the machine of a node is looked for that is not ready, as the field's controllers do.
	nodePoll = 5 * time.Second
)

// Nodes removes the nodes of machines that have ended. Whoever ends a machine removes its node as well; this is for the
// node that registers only after that, and for the one that comes back with an older state of the shoot's etcd. A node
// that is ready is not looked at: it would not be for long without its machine.
type Nodes struct {
	Shoot  client.Client // reads from the API server
	Events events.EventRecorder
	Account
}

func concernsNode(n *corev1.Node) bool {
	isReady := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return strings.HasPrefix(n.Spec.ProviderID, providerPrefix) && !isReady && n.DeletionTimestamp == nil
}

// machineID is that of the machine that a node is; empty if it does not say so.
func machineID(n *corev1.Node) string {
	return n.Spec.ProviderID[strings.LastIndex(n.Spec.ProviderID, "/")+1:]
}

// Reconcile looks at one Node.
func (r *Nodes) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := r.Shoot.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !concernsNode(node) {
		return reconcile.Result{}, nil
	}
	ended, err := r.ended(ctx, machineID(node))
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case !ended:
		return reconcile.Result{RequeueAfter: nodePoll}, nil
	}
	// One that has taken its name since is another machine's.
	err = r.Shoot.Delete(ctx, node, client.Preconditions{UID: &node.UID})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("delete node %q, whose machine has ended: %w", node.Name, err)
	}
	r.Events.Eventf(node, nil, corev1.EventTypeNormal, "DeletingNode", "Delete", "its machine %s has ended",
		machineID(node))
	return reconcile.Result{}, nil
}

// ended is whether there is no such machine in the cloud, or no more.
func (r *Nodes) ended(ctx context.Context, id string) (bool, error) {
	machine, err := r.Cloud.Machines().Get(r.scoped(ctx), id)
	switch {
	case cloud.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read the machine of the node: %w", err)
	}
	return machine.State == cloud.MachineTerminated, nil
}
