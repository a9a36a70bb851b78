package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// chosen says whether a node is to be updated in place now: a candidate that the deployment, or the user, has selected.
func chosen(node *corev1.Node) bool {
	return node.Labels[machinev1alpha1.LabelCandidateForUpdate] != "" &&
		node.Labels[machinev1alpha1.LabelSelectedForUpdate] == machinev1alpha1.LabelTrue
}

// updateInPlace drains the node of a machine and lets its agent update it (docs/specification/versions.md#spec-4-9).
// What comes of it stands on the node, so that whoever goes on with it, on another seed perhaps, finds it there. The
// deployment takes the machine over.
func (r *Machines) updateInPlace(ctx context.Context, logger logr.Logger, m *machinev1alpha1.Machine,
	node *corev1.Node) (time.Duration, error) {
	const op = machinev1alpha1.MachineOperationInPlaceUpdate
	switch node.Labels[machinev1alpha1.LabelUpdateResult] {
	case machinev1alpha1.UpdateSuccessful:
		return r.Timeouts.Poll, r.phase(ctx, m, machinev1alpha1.MachineInPlaceUpdateSuccessful, op,
			machinev1alpha1.MachineStateSuccessful, "The node "+node.Name+" was updated in place")
	case machinev1alpha1.UpdateFailed:
		return r.Timeouts.Check, r.phase(ctx, m, machinev1alpha1.MachineInPlaceUpdateFailed, op,
			machinev1alpha1.MachineStateFailed,
			fmt.Sprintf("The node %s was not updated in place within %s", node.Name, r.inPlaceTimeout(m)))
	}
	if err := r.phase(ctx, m, machinev1alpha1.MachineInPlaceUpdating, op, machinev1alpha1.MachineStateProcessing,
		"The node "+node.Name+" is being updated in place"); err != nil {
		return 0, err
	}
	since, ready := readySince(node)
	switch {
	case !ready:
		return r.makeReady(ctx, logger, m, node)
	case r.Clock.Since(since) >= r.inPlaceTimeout(m):
		logger.Info("The node was not updated in time", "node", node.Name)
		// whoever lets it be tried again gives it all the time anew
		if err := patchConditions(ctx, r.Target, node, func() {
			node.Status.Conditions = withoutUpdate(node.Status.Conditions)
		}); err != nil {
			return 0, err
		}
		return r.Timeouts.Poll, patch.LockedObject(ctx, r.Target, node, func() {
			node.Labels[machinev1alpha1.LabelUpdateResult] = machinev1alpha1.UpdateFailed
		})
	}
	return r.Timeouts.Poll, nil
}

// makeReady drains the node; whatever is left on it when the time for that is over is deleted.
func (r *Machines) makeReady(ctx context.Context, logger logr.Logger, m *machinev1alpha1.Machine,
	node *corev1.Node) (time.Duration, error) {
	left, err := r.drain(ctx, m)
	late := r.Clock.Since(m.Status.CurrentStatus.LastUpdateTime.Time) >= r.drainTimeout(m)
	switch {
	case late && (err != nil || left > 0):
		logger.Info("The node could not be drained in time, its pods are deleted", "node", node.Name, "left", left)
		return r.Timeouts.Poll, r.clear(ctx, node)
	case err != nil:
		logger.Info("The node is not drained yet", "reason", err.Error())
		return r.Timeouts.Poll, nil
	case left > 0:
		return r.Timeouts.Poll, nil
	}
	if err := r.Target.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
		return 0, fmt.Errorf("read the node %q: %w", node.Name, err)
	}
	r.tries.forget(m)
	logger.Info("The node is ready for its update", "node", node.Name)
	now := metav1.NewTime(r.Clock.Now())
	return r.Timeouts.Poll, patchConditions(ctx, r.Target, node, func() {
		node.Status.Conditions = append(withoutUpdate(node.Status.Conditions), corev1.NodeCondition{
			Type: machinev1alpha1.ConditionInPlaceUpdate, Status: corev1.ConditionTrue,
			Reason:  machinev1alpha1.ReasonReadyForUpdate,
			Message: "The node is drained", LastHeartbeatTime: now, LastTransitionTime: now,
		})
	})
}

// clear deletes the pods that drain would evict.
func (r *Machines) clear(ctx context.Context, node *corev1.Node) error {
	pods := &corev1.PodList{}
	if err := r.Target.List(ctx, pods, client.MatchingFields{"spec.nodeName": node.Name}); err != nil {
		return fmt.Errorf("list the pods of node %q: %w", node.Name, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if stays(pod) {
			continue
		}
		if err := client.IgnoreNotFound(r.Target.Delete(ctx, pod, client.Preconditions{UID: &pod.UID},
			client.GracePeriodSeconds(0))); err != nil {
			return fmt.Errorf("delete the pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return nil
}

// readySince is from when on a node waits for its update.
func readySince(node *corev1.Node) (time.Time, bool) {
	for _, condition := range node.Status.Conditions {
		if condition.Type == machinev1alpha1.ConditionInPlaceUpdate && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// patchConditions changes conditions one by one: others write theirs at the same time.
func patchConditions(ctx context.Context, shoot client.Client, node *corev1.Node, change func()) error {
	before := node.DeepCopy()
	change()
	if err := shoot.Status().Patch(ctx, node, client.StrategicMergeFrom(before)); err != nil {
		return fmt.Errorf("patch the conditions of node %q: %w", node.Name, err)
	}
	return nil
}

func withoutUpdate(conditions []corev1.NodeCondition) []corev1.NodeCondition {
	var others []corev1.NodeCondition
	for _, condition := range conditions {
		if condition.Type != machinev1alpha1.ConditionInPlaceUpdate {
			others = append(others, condition)
		}
	}
	return others
}

func (r *Machines) inPlaceTimeout(m *machinev1alpha1.Machine) time.Duration {
	return timeout(m, r.Timeouts.InPlaceUpdate, func(c *machinev1alpha1.MachineConfiguration) *metav1.Duration {
		return c.MachineInPlaceUpdateTimeout
	})
}
