package podworker

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setConditions adds the conditions that a kubelet keeps to those of others.
func (r *reporter) setConditions(status *corev1.PodStatus) {
	ended := status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed
	containers := r.containersReady(status.Phase)
	ready := containers
	if ready.Status == corev1.ConditionTrue {
		ready = r.gatesReady()
	}
	containers.Type, ready.Type = corev1.ContainersReady, corev1.PodReady
	shared := corev1.PodCondition{Type: corev1.PodReadyToStartContainers,
		Status: truth(r.pod.phase >= phaseReady && !ended && r.sandbox.ip != "")}
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}
	for _, condition := range []corev1.PodCondition{shared, r.initializedCondition(status.Phase), ready, containers,
		scheduled} {
		r.setCondition(status, condition)
	}
}

// setCondition puts a condition in its place and keeps the time of its last change.
func (r *reporter) setCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	condition.ObservedGeneration = r.pod.seen.Generation
	condition.LastTransitionTime = metav1.NewTime(r.pod.Clock.Now()).Rfc3339Copy()
	if old := find(r.conditions, condition.Type); old != nil {
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		*old = condition
	} else {
		r.conditions = append(r.conditions, condition)
	}
	if shown := find(status.Conditions, condition.Type); shown != nil {
		*shown = condition
	} else {
		status.Conditions = append(status.Conditions, condition)
	}
}

func find(conditions []corev1.PodCondition, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

func (r *reporter) initializedCondition(phase corev1.PodPhase) corev1.PodCondition {
	condition := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if phase == corev1.PodSucceeded {
		condition.Reason = "PodCompleted"
		return condition
	}
	if r.pod.initialized {
		return condition
	}
	var incomplete []string
	for _, i := range r.containers.init {
		if i.sidecar && !i.started || !i.sidecar && !i.done() {
			incomplete = append(incomplete, i.spec.Name)
		}
	}
	if len(incomplete) > 0 {
		condition.Status, condition.Reason = corev1.ConditionFalse, "ContainersNotInitialized"
		condition.Message = fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(incomplete, " "))
	}
	return condition
}

func (r *reporter) containersReady(phase corev1.PodPhase) corev1.PodCondition {
	switch phase {
	case corev1.PodSucceeded:
		return corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "PodCompleted"}
	case corev1.PodFailed:
		return corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "PodFailed"}
	}
	var unready []string
	for _, i := range r.containers.all() {
		if (!i.isInit || i.sidecar) && (i.process == nil || !i.ready) {
			unready = append(unready, i.spec.Name)
		}
	}
	if len(unready) == 0 {
		return corev1.PodCondition{Status: corev1.ConditionTrue}
	}
	return corev1.PodCondition{
		Status: corev1.ConditionFalse, Reason: "ContainersNotReady",
		Message: fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " ")),
	}
}

// gatesReady looks at the conditions of others that the pod wants to be true.
func (r *reporter) gatesReady() corev1.PodCondition {
	var missing []string
	for _, gate := range r.pod.seen.Spec.ReadinessGates {
		condition := find(r.pod.seen.Status.Conditions, gate.ConditionType)
		switch {
		case condition == nil:
			missing = append(missing, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.",
				gate.ConditionType))
		case condition.Status != corev1.ConditionTrue:
			missing = append(missing, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v",
				gate.ConditionType, condition.Status))
		}
	}
	if len(missing) == 0 {
		return corev1.PodCondition{Status: corev1.ConditionTrue}
	}
	return corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady",
		Message: strings.Join(missing, ", ")}
}
