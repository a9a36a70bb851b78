package podworker

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// publish brings the status of the pod to the API server, if it has changed.
func (w *Worker) publish() {
	if w.gone || w.started.IsZero() && w.phase == phaseNew {
		return
	}
	status := w.pod.Status.DeepCopy()
	status.ObservedGeneration = w.pod.Generation
	status.Phase = w.podPhase()
	status.Reason, status.Message = w.failure.reason, w.failure.message
	if !w.started.IsZero() {
		started := metav1.NewTime(w.started).Rfc3339Copy()
		status.StartTime = &started
	}
	status.HostIP = w.Address.String()
	status.HostIPs = []corev1.HostIP{{IP: status.HostIP}}
	if w.ip != "" {
		status.PodIP, status.PodIPs = w.ip, []corev1.PodIP{{IP: w.ip}}
	}
	status.InitContainerStatuses = w.containerStatuses(w.init)
	status.ContainerStatuses = w.containerStatuses(w.main)
	w.setConditions(status)
	w.status.Want(status)
}

// podPhase sums up the containers, by the rules of a kubelet.
func (w *Worker) podPhase() corev1.PodPhase {
	waiting, failed := false, w.failure != (failure{}) || w.initFailed()
	for _, i := range w.main {
		waiting = waiting || i.process == nil && i.ended == nil
		failed = failed || i.process == nil && i.ended != nil && i.ended.ExitCode != 0
	}
	switch {
	case w.phase == phaseStopped && (failed || waiting):
		return corev1.PodFailed
	case w.phase == phaseStopped:
		return corev1.PodSucceeded
	case !w.initialized || waiting:
		return corev1.PodPending
	}
	return corev1.PodRunning
}

// initFailed says whether an init container keeps the pod from starting for good.
func (w *Worker) initFailed() bool {
	for _, i := range w.init {
		if !i.sidecar && !i.alive() && i.ended != nil && !i.done() && !i.mayRestart(w.pod.Spec.RestartPolicy) {
			return true
		}
	}
	return false
}

func (w *Worker) containerStatuses(instances []*instance) []corev1.ContainerStatus {
	if len(instances) == 0 {
		return nil
	}
	statuses := make([]corev1.ContainerStatus, 0, len(instances))
	for _, i := range instances {
		statuses = append(statuses, w.containerStatus(i))
	}
	return statuses
}

func (w *Worker) containerStatus(i *instance) corev1.ContainerStatus {
	status := corev1.ContainerStatus{
		Name: i.spec.Name, Image: i.spec.Image, RestartCount: i.restartCount(), ContainerID: i.containerID(),
		Ready: i.ready && i.process != nil,
	}
	if i.isInit && !i.sidecar {
		status.Ready = i.done()
	}
	started := i.started && i.process != nil
	status.Started = &started
	if _, known := w.Images[i.spec.Image]; known {
		status.ImageID = i.spec.Image
	}
	switch {
	case i.process != nil:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(i.startedAt).Rfc3339Copy()}
		status.LastTerminationState.Terminated = i.ended
	case i.waiting != nil && w.phase < phaseStopping:
		status.State.Waiting = i.waiting
		status.LastTerminationState.Terminated = i.ended
	case i.ended != nil:
		status.State.Terminated = i.ended
		status.LastTerminationState.Terminated = i.endedBefore
	case !w.initialized && len(w.init) > 0:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	default:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	}
	return status
}

// eventf records an event about one container.
func (w *Worker) eventf(i *instance, kind, reason, format string, args ...any) {
	list := "containers"
	if i.isInit {
		list = "initContainers"
	}
	object := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: w.pod.Namespace, Name: w.pod.Name, UID: w.pod.UID,
		ResourceVersion: w.pod.ResourceVersion, FieldPath: "spec." + list + "{" + i.spec.Name + "}",
	}
	w.Recorder.Eventf(object, kind, reason, format, args...)
}
