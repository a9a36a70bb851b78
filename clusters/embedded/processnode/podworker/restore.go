package podworker

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is said of a container that this node has lost: nobody knows how it ended.
const (
	lostExitCode = 255
	lostMessage  = "The node was stopped."
)

// restore takes up a pod that an earlier life of this node has run: its containers have ended with that life, and are
// started anew where the pod's policy says so, as after a reboot. Its address, empty folders and claims stay.
func (w *Worker) restore() {
	status := &w.pod.seen.Status
	w.sandbox.ip, w.report.conditions = status.PodIP, append([]corev1.PodCondition(nil), status.Conditions...)
	if status.StartTime != nil {
		w.pod.started = status.StartTime.Time
	}
	if status.Phase == corev1.PodFailed && status.Reason != "" {
		w.pod.failure = failure{status.Reason, status.Message}
	}
	for _, i := range w.containers.all() {
		for _, statuses := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
			for k := range statuses {
				if statuses[k].Name == i.spec.Name {
					i.restore(&statuses[k], metav1.NewTime(w.pod.Clock.Now()).Rfc3339Copy())
				}
			}
		}
	}
	for _, i := range w.containers.all() {
		i.restoreRuns(w.sandbox.containerFolder(i.spec.Name), metav1.NewTime(w.pod.Clock.Now()).Rfc3339Copy())
	}
	switch {
	case status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed:
		w.pod.phase, w.pod.initialized = phaseStopped, true
	case w.pod.seen.Spec.RestartPolicy == corev1.RestartPolicyNever && anyRan(w.containers.main):
		w.pod.initialized = true // nothing is run twice
	default:
		w.containers.forgetInit()
	}
}

func (i *instance) restore(status *corev1.ContainerStatus, now metav1.Time) {
	i.id = strings.TrimPrefix(status.ContainerID, idPrefix)
	i.ended = status.LastTerminationState.Terminated
	if status.State.Terminated != nil {
		i.endedBefore, i.ended = i.ended, status.State.Terminated
	}
	if running := status.State.Running; running != nil {
		i.ended = &corev1.ContainerStateTerminated{
			ExitCode: lostExitCode, Reason: "Unknown", Message: lostMessage,
			StartedAt: running.StartedAt, FinishedAt: now, ContainerID: status.ContainerID,
		}
	}
	if i.ended != nil {
		i.runs = int(status.RestartCount) + 1
	}
}

// restoreRuns counts the runs by the logs they have left: a node that is lost together with its API server has not
// reported the last ones.
func (i *instance) restoreRuns(folder string, now metav1.Time) {
	logs, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return // the pattern is good
	}
	logged := 0
	for _, log := range logs {
		if n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(log), ".log")); err == nil {
			logged = max(logged, n+1)
		}
	}
	if logged <= i.runs {
		return
	}
	i.runs = logged
	i.ended = &corev1.ContainerStateTerminated{ExitCode: lostExitCode, Reason: "Unknown", Message: lostMessage,
		StartedAt: now, FinishedAt: now}
}

func anyRan(instances []*instance) bool {
	return slices.ContainsFunc(instances, func(i *instance) bool { return i.ended != nil })
}
