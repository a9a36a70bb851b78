package podworker

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podstatus"
)

// reporter sums up a pod for the API server.
type reporter struct {
	pod        *pod
	sandbox    *sandbox
	containers *containers
	writer     *podstatus.Writer
	conditions []corev1.PodCondition // ours, with the times of their last change
}

// publish brings the status of the pod to the API server, if it has changed.
func (r *reporter) publish() {
	if r.pod.gone || r.pod.started.IsZero() && r.pod.phase == phaseNew {
		return
	}
	status := r.pod.seen.Status.DeepCopy()
	status.ObservedGeneration = r.pod.seen.Generation
	status.Phase = r.podPhase()
	status.Reason, status.Message = r.pod.failure.reason, r.pod.failure.message
	if !r.pod.started.IsZero() {
		started := metav1.NewTime(r.pod.started).Rfc3339Copy()
		status.StartTime = &started
	}
	status.HostIP = r.pod.Address.String()
	status.HostIPs = []corev1.HostIP{{IP: status.HostIP}}
	if r.sandbox.ip != "" {
		status.PodIP, status.PodIPs = r.sandbox.ip, []corev1.PodIP{{IP: r.sandbox.ip}}
	}
	status.InitContainerStatuses = statusesOf(r.containers.init)
	status.ContainerStatuses = statusesOf(r.containers.main)
	r.setConditions(status)
	r.writer.Want(status)
}

// podPhase sums up the containers, by the rules of a kubelet.
func (r *reporter) podPhase() corev1.PodPhase {
	waiting, failed := false, r.pod.failure != (failure{}) || r.initFailed()
	for _, i := range r.containers.main {
		waiting = waiting || i.process == nil && i.ended == nil
		failed = failed || i.process == nil && i.ended != nil && i.ended.ExitCode != 0
	}
	switch {
	case r.pod.phase == phaseStopped && (failed || waiting):
		return corev1.PodFailed
	case r.pod.phase == phaseStopped:
		return corev1.PodSucceeded
	case !r.pod.initialized || waiting:
		return corev1.PodPending
	}
	return corev1.PodRunning
}

// initFailed says whether an init container keeps the pod from starting for good.
func (r *reporter) initFailed() bool {
	return slices.ContainsFunc(r.containers.init, func(i *instance) bool {
		return !i.sidecar && !i.alive() && i.ended != nil && !i.done() && !i.mayRestart(r.pod.seen.Spec.RestartPolicy)
	})
}

func statusesOf(instances []*instance) []corev1.ContainerStatus {
	if len(instances) == 0 {
		return nil
	}
	statuses := make([]corev1.ContainerStatus, 0, len(instances))
	for _, i := range instances {
		statuses = append(statuses, i.status())
	}
	return statuses
}

func (i *instance) status() corev1.ContainerStatus {
	status := corev1.ContainerStatus{
		Name: i.spec.Name, Image: i.spec.Image, RestartCount: i.restartCount(), ContainerID: i.containerID(),
		Ready: i.ready && i.process != nil,
	}
	if i.isInit && !i.sidecar {
		status.Ready = i.done()
	}
	started := i.started && i.process != nil
	status.Started = &started
	if _, known := i.pod.Images[i.spec.Image]; known {
		status.ImageID = i.spec.Image
	}
	switch {
	case i.process != nil:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(i.startedAt).Rfc3339Copy()}
		status.LastTerminationState.Terminated = i.ended
	case i.waiting != nil && i.pod.phase < phaseStopping:
		status.State.Waiting = i.waiting
		status.LastTerminationState.Terminated = i.ended
	case i.ended != nil:
		status.State.Terminated = i.ended
		status.LastTerminationState.Terminated = i.endedBefore
	case !i.pod.initialized && len(i.pod.first.Spec.InitContainers) > 0:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	default:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	}
	return status
}

// eventf records an event about one container.
func (i *instance) eventf(kind, reason, format string, args ...any) {
	list := "containers"
	if i.isInit {
		list = "initContainers"
	}
	object := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: i.pod.seen.Namespace, Name: i.pod.seen.Name, UID: i.pod.seen.UID,
		ResourceVersion: i.pod.seen.ResourceVersion, FieldPath: "spec." + list + "{" + i.spec.Name + "}",
	}
	i.pod.Recorder.Eventf(object, kind, reason, format, args...)
}
