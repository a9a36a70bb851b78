package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// annotationLastApplied keeps on a node what the controller has put there, so that it can take it off again.
const annotationLastApplied = "node.machine.sapcloud.io/last-applied-anno-labels-taints"

// defaultNodeConditions make a machine unhealthy when they are True, unless its configuration names others.
var defaultNodeConditions = []string{"KernelDeadlock", "ReadonlyFilesystem", "DiskPressure"}

// watch looks at a machine that is bound: it runs when its node is healthy. What cannot be seen is no failure: while
// the shoot's API server is away, nothing changes.
func (r *Machines) watch(ctx context.Context, logger logr.Logger, m *machinev1alpha1.Machine) (time.Duration, error) {
	name := m.Labels[machinev1alpha1.LabelNode]
	if name == "" {
		return r.unhealthy(ctx, logger, m, "it has no node")
	}
	node := &corev1.Node{}
	err := r.Target.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		return r.unhealthy(ctx, logger, m, "the node has not registered")
	case err != nil:
		logger.V(1).Info("The shoot's API server does not answer", "reason", err.Error())
		return r.Timeouts.Poll, nil
	}
	if chosen(node) {
		return r.updateInPlace(ctx, logger, m, node)
	}
	if reason := sick(m, node); reason != "" {
		return r.unhealthy(ctx, logger, m, reason)
	}
	if m.Status.CurrentStatus.Phase != machinev1alpha1.MachineRunning {
		// After a restoration the node is that of a backup, and Ready on the word of nobody for some time.
		if gone, err := r.gone(ctx, logger, m, machinev1alpha1.MachineOperationHealthCheck); err != nil || gone {
			return 0, err
		}
	}
	if err := r.syncNode(ctx, m, node); err != nil {
		return 0, err
	}
	if err := patch.Status(ctx, r.Control, m, func() {
		m.Status.Conditions = stable(node.Status.Conditions)
		m.Status.Addresses = node.Status.Addresses
	}); err != nil {
		return 0, err
	}
	op := m.Status.LastOperation.Type
	if m.Status.CurrentStatus.Phase != machinev1alpha1.MachineRunning {
		op = machinev1alpha1.MachineOperationHealthCheck
		if m.Status.CurrentStatus.Phase != machinev1alpha1.MachineUnknown {
			op = machinev1alpha1.MachineOperationCreate
		}
		logger.Info("The machine runs", "node", node.Name)
	}
	return r.Timeouts.Check, r.phase(ctx, m, machinev1alpha1.MachineRunning, op, machinev1alpha1.MachineStateSuccessful,
		"The node "+node.Name+" is healthy")
}

// stable leaves the heartbeats out of the conditions: they are no change of the machine.
func stable(conditions []corev1.NodeCondition) []corev1.NodeCondition {
	conditions = slices.Clone(conditions)
	for i := range conditions {
		conditions[i].LastHeartbeatTime = conditions[i].LastTransitionTime
	}
	return conditions
}

// sick says what is wrong with a node, or nothing.
func sick(m *machinev1alpha1.Machine, node *corev1.Node) string {
	watched := defaultNodeConditions
	if c := m.Spec.MachineConfiguration; c != nil && c.NodeConditions != nil {
		watched = strings.Split(*c.NodeConditions, ",")
	}
	ready := false
	for _, condition := range node.Status.Conditions {
		switch {
		case condition.Type == corev1.NodeReady:
			ready = condition.Status == corev1.ConditionTrue
		case condition.Status == corev1.ConditionTrue && slices.Contains(watched, string(condition.Type)):
			return fmt.Sprintf("the node has the condition %s", condition.Type)
		}
	}
	if !ready {
		return "the node is not ready"
	}
	return ""
}

// unhealthy keeps a machine waiting for its node, as Pending if it never had one, else as Unknown, and gives it up when
// its time is over or the machine behind it is gone.
func (r *Machines) unhealthy(ctx context.Context, logger logr.Logger, m *machinev1alpha1.Machine,
	reason string) (time.Duration, error) {
	phase, op, limit := machinev1alpha1.MachinePending, machinev1alpha1.MachineOperationCreate, r.creationTimeout(m)
	switch m.Status.CurrentStatus.Phase {
	case machinev1alpha1.MachineRunning, machinev1alpha1.MachineUnknown,
		machinev1alpha1.MachineInPlaceUpdating, machinev1alpha1.MachineInPlaceUpdateSuccessful,
		machinev1alpha1.MachineInPlaceUpdateFailed:
		phase, op, limit = machinev1alpha1.MachineUnknown, machinev1alpha1.MachineOperationHealthCheck, r.healthTimeout(m)
	}
	if gone, err := r.gone(ctx, logger, m, op); err != nil || gone {
		return 0, err
	}
	if err := r.phase(ctx, m, phase, op, machinev1alpha1.MachineStateProcessing, reason); err != nil {
		return 0, err
	}
	left := limit - r.Clock.Since(m.Status.CurrentStatus.LastUpdateTime.Time)
	if left > 0 {
		return min(left, r.Timeouts.Poll), nil
	}
	if phase == machinev1alpha1.MachineUnknown && healthTimeoutOff(m) {
		return r.Timeouts.Check, nil
	}
	return 0, r.phase(ctx, m, machinev1alpha1.MachineFailed, op, machinev1alpha1.MachineStateFailed,
		fmt.Sprintf("%s for %s", reason, limit))
}

// gone asks the cloud for the machine, and gives it up if it is there no more.
func (r *Machines) gone(ctx context.Context, logger logr.Logger, m *machinev1alpha1.Machine,
	op machinev1alpha1.MachineOperationType) (bool, error) {
	vm, err := r.Cloud.Get(ctx, idOf(m.Spec.ProviderID))
	if err != nil || vm != nil {
		return false, err
	}
	logger.Info("The machine is gone from the cloud", "providerID", m.Spec.ProviderID)
	return true, r.phase(ctx, m, machinev1alpha1.MachineFailed, op, machinev1alpha1.MachineStateFailed,
		"the machine is gone from the cloud")
}

func healthTimeoutOff(m *machinev1alpha1.Machine) bool {
	c := m.Spec.MachineConfiguration
	return c != nil && c.DisableHealthTimeout != nil && *c.DisableHealthTimeout
}

// applied is what the controller has put on a node.
type applied struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []corev1.Taint    `json:"taints,omitempty"`
}

// syncNode puts labels, annotations and taints of the machine's template on its node, and takes off those that it put
// there before and that are wanted no more. What others put there stays.
func (r *Machines) syncNode(ctx context.Context, m *machinev1alpha1.Machine, node *corev1.Node) error {
	template := m.Spec.NodeTemplateSpec
	wanted := applied{Labels: template.Labels, Annotations: template.Annotations, Taints: template.Spec.Taints}
	record, err := json.Marshal(wanted)
	if err != nil {
		return fmt.Errorf("marshal the node template of Machine %q: %w", m.Name, err)
	}
	before := applied{}
	if text := node.Annotations[annotationLastApplied]; text != "" {
		if err := json.Unmarshal([]byte(text), &before); err != nil {
			return fmt.Errorf("read what was put on node %q: %w", node.Name, err)
		}
	}
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Target, node, func() {
		node.Labels = merged(node.Labels, before.Labels, wanted.Labels)
		node.Annotations = merged(node.Annotations, before.Annotations, wanted.Annotations)
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, annotationLastApplied, string(record))
		node.Spec.Taints = mergedTaints(node.Spec.Taints, before.Taints, wanted.Taints)
	}))
}

func merged(have, before, wanted map[string]string) map[string]string {
	have = maps.Clone(have)
	for key := range before {
		if _, still := wanted[key]; !still {
			delete(have, key)
		}
	}
	if have == nil && len(wanted) > 0 {
		have = map[string]string{}
	}
	maps.Copy(have, wanted)
	return have
}

func mergedTaints(have, before, wanted []corev1.Taint) []corev1.Taint {
	in := func(taints []corev1.Taint, taint corev1.Taint) bool {
		return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
	}
	var kept []corev1.Taint
	for _, taint := range have {
		if in(wanted, taint) || !in(before, taint) {
			kept = append(kept, taint)
		}
	}
	for _, taint := range wanted {
		if !in(kept, taint) {
			kept = append(kept, taint)
		}
	}
	return kept
}
