package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// DefaultBackoff is the pause between two looks at a node that is not ready for pods yet.
const DefaultBackoff = 10 * time.Second

// action is what events of this controller are about.
const action = "RemoveTaint"

// Reconciler takes the taint off the nodes of one shoot once their critical components are ready
// (docs/specification/nodes-and-seeds.md#spec-7-1).
type Reconciler struct {
	// Shoot is an uncached client: there are few nodes that wait, and many pods.
	Shoot  client.Client
	Events events.EventRecorder
	// Backoff is the pause between two looks at a node that has the taint.
	Backoff time.Duration
}

// Reconcile looks at one node.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := r.Shoot.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !Tainted(node) || node.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	seen, err := r.observe(ctx, node)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("look at what node %q needs: %w", node.Name, err)
	}
	obstacles := Obstacles(seen)
	for _, o := range obstacles {
		r.Events.Eventf(node, nil, corev1.EventTypeWarning, o.Reason, action, "%s", o.String())
	}
	if len(obstacles) > 0 {
		return reconcile.Result{RequeueAfter: r.Backoff}, nil
	}
	// The lock: the list of taints is replaced as a whole, and others write it too.
	err = patch.LockedObject(ctx, r.Shoot, node, func() { node.Spec.Taints = WithoutTaint(node.Spec.Taints) })
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("take the taint off node %q: %w", node.Name, err)
	}
	r.Events.Eventf(node, nil, corev1.EventTypeNormal, ReasonReady, action,
		"All node-critical components got ready, the taint has been removed")
	return reconcile.Result{}, nil
}

func (r *Reconciler) observe(ctx context.Context, node *corev1.Node) (Observation, error) {
	critical := client.MatchingLabels{constants.NodeCriticalComponent: constants.LabelTrue}
	daemonSets, pods, drivers := &appsv1.DaemonSetList{}, &corev1.PodList{}, &storagev1.CSINode{}
	err := errors.Join(
		r.Shoot.List(ctx, daemonSets, critical),
		r.Shoot.List(ctx, pods, critical, client.MatchingFields{"spec.nodeName": node.Name}),
		client.IgnoreNotFound(r.Shoot.Get(ctx, client.ObjectKeyFromObject(node), drivers)),
	)
	return Observation{Node: node, DaemonSets: daemonSets.Items, Pods: pods.Items, CSINode: drivers}, err
}
