package machine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// terminate drains the node, ends the machine, removes the node, and releases the Machine, in this order.
func (r *Machines) terminate(ctx context.Context, logger logr.Logger, m *machinev1alpha1.Machine) (time.Duration,
	error) {
	if !hasFinalizer(m) {
		return 0, nil
	}
	if last := m.Status.LastOperation; last.Type != machinev1alpha1.MachineOperationDelete {
		if err := r.terminating(ctx, m); err != nil {
			return 0, err
		}
	}
	forced := isForced(m)
	if !forced && r.Clock.Since(m.DeletionTimestamp.Time) < r.drainTimeout(m) {
		drained, err := r.drained(ctx, logger, m)
		if err != nil {
			return r.Timeouts.Poll, r.notEnded(ctx, m, err)
		}
		if !drained {
			return r.Timeouts.Poll, nil
		}
	}
	gone, err := r.end(ctx, m)
	if err != nil {
		return r.Timeouts.Poll, r.notEnded(ctx, m, err)
	}
	if !gone {
		return r.Timeouts.Poll, r.terminating(ctx, m)
	}
	if err := r.removeNode(ctx, m); err != nil && !forced {
		return 0, err
	}
	r.tries.forget(m)
	logger.Info("The machine is gone")
	return 0, removeFinalizers(ctx, r.Control, m)
}

func (r *Machines) terminating(ctx context.Context, m *machinev1alpha1.Machine) error {
	return r.phase(ctx, m, machinev1alpha1.MachineTerminating, machinev1alpha1.MachineOperationDelete,
		machinev1alpha1.MachineStateProcessing, "The machine is being deleted")
}

// notEnded shows why the machine still exists, until the cloud ends it.
func (r *Machines) notEnded(ctx context.Context, m *machinev1alpha1.Machine, cause error) error {
	if errors.Is(cause, validity.ErrLapsed) {
		return cause
	}
	return errors.Join(cause, r.report(ctx, m, machinev1alpha1.MachineTerminating, machinev1alpha1.LastOperation{
		Type: machinev1alpha1.MachineOperationDelete, State: machinev1alpha1.MachineStateFailed,
		Description: cause.Error(), ErrorCode: string(cloud.CodeOf(cause)),
	}))
}

// isForced says whether a machine is to be ended without its node being drained.
func isForced(m *machinev1alpha1.Machine) bool {
	return m.Labels[machinev1alpha1.LabelForceDeletion] == machinev1alpha1.ForceDeletion
}

// drained drains the node once more and says whether that is done. A machine that is gone from the cloud is: its pods
// have ended with it, and nobody is left to say so. Who ended it may have been another seed, which was lost before it
// reported that.
func (r *Machines) drained(ctx context.Context, logger logr.Logger, m *machinev1alpha1.Machine) (bool, error) {
	if m.Spec.ProviderID != "" {
		if vm, err := r.Cloud.Get(ctx, idOf(m.Spec.ProviderID)); err != nil || vm == nil {
			return err == nil, err
		}
	}
	left, err := r.drain(ctx, m)
	if err != nil {
		logger.Info("The node is not drained yet", "reason", err.Error())
		return false, nil
	}
	if left > 0 {
		logger.V(1).Info("Pods are being evicted", "left", left)
	}
	return left == 0, nil
}

// end terminates whatever machine the Machine stands for, also one whose id it has never learnt.
func (r *Machines) end(ctx context.Context, m *machinev1alpha1.Machine) (gone bool, err error) {
	named, err := r.Cloud.List(ctx, map[string]string{tagMachine: m.Name})
	if err != nil {
		return false, err
	}
	ids := map[string]bool{}
	for _, vm := range named {
		ids[vm.ID] = true
	}
	if m.Spec.ProviderID != "" {
		vm, err := r.Cloud.Get(ctx, idOf(m.Spec.ProviderID))
		if err != nil {
			return false, err
		}
		if vm != nil {
			ids[vm.ID] = true
		}
	}
	for id := range ids {
		if err := r.Cloud.Delete(ctx, id); err != nil {
			return false, err
		}
	}
	return len(ids) == 0, nil
}

func (r *Machines) removeNode(ctx context.Context, m *machinev1alpha1.Machine) error {
	name := m.Labels[machinev1alpha1.LabelNode]
	if name == "" {
		return nil
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(r.Target.Delete(ctx, node)); err != nil {
		return fmt.Errorf("delete the node %q: %w", name, err)
	}
	return nil
}

// drain cordons the node and evicts its pods, by the eviction subresource only, so that disruption budgets hold; it
// says how many pods are still there. A node that does not exist has none.
func (r *Machines) drain(ctx context.Context, m *machinev1alpha1.Machine) (left int, err error) {
	name := m.Labels[machinev1alpha1.LabelNode]
	if name == "" {
		return 0, nil
	}
	node := &corev1.Node{}
	if err := r.Target.Get(ctx, client.ObjectKey{Name: name}, node); apierrors.IsNotFound(err) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("read the node %q: %w", name, err)
	}
	if err := patch.LockedObject(ctx, r.Target, node, func() { node.Spec.Unschedulable = true }); err != nil {
		return 0, err
	}
	pods := &corev1.PodList{}
	if err := r.Target.List(ctx, pods, client.MatchingFields{"spec.nodeName": name}); err != nil {
		return 0, fmt.Errorf("list the pods of node %q: %w", name, err)
	}
	var refused []error
	for i := range pods.Items {
		pod := &pods.Items[i]
		if stays(pod) {
			continue
		}
		left++
		if pod.DeletionTimestamp != nil {
			continue
		}
		refused = append(refused, r.evict(ctx, m, pod))
	}
	return left, errors.Join(refused...)
}

// evict asks for the eviction of a pod. A disruption budget may refuse it as long as the drain lasts; what cannot be
// evicted for another reason is deleted after some tries, as the field's machine controller does.
func (r *Machines) evict(ctx context.Context, m *machinev1alpha1.Machine, pod *corev1.Pod) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err := client.IgnoreNotFound(r.Target.SubResource("eviction").Create(ctx, pod, eviction))
	switch {
	case err == nil:
		return nil
	case apierrors.IsTooManyRequests(err), r.tries.count(m, pod) < r.evictRetries(m):
		return fmt.Errorf("evict the pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if err := client.IgnoreNotFound(r.Target.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})); err != nil {
		return fmt.Errorf("delete the pod %s/%s, which could not be evicted: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// stays says whether a pod is none of the drain's business: it is over, or belongs to the node itself.
func stays(pod *corev1.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// tries counts evictions that failed, by machine and pod. A controller that starts again begins anew: pods are then
// treated more gently, not less.
type tries struct {
	mutex  sync.Mutex
	failed map[types.UID]map[types.UID]int32
}

// count adds one try and says how many there were.
func (t *tries) count(m *machinev1alpha1.Machine, pod *corev1.Pod) int32 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.failed == nil {
		t.failed = map[types.UID]map[types.UID]int32{}
	}
	if t.failed[m.UID] == nil {
		t.failed[m.UID] = map[types.UID]int32{}
	}
	t.failed[m.UID][pod.UID]++
	return t.failed[m.UID][pod.UID]
}

// forget is for machines that are gone.
func (t *tries) forget(m *machinev1alpha1.Machine) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.failed, m.UID)
}
