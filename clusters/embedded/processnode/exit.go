package processnode

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
)

func (a *attempt) endLog(w *worker) {
	if err := a.log.Close(); err != nil {
		w.node.log.Error(err, "Could not close a log", "pod", a.pod.Name)
	}
}

// drain waits until all output is in the log, and closes it.
func (a *attempt) drain() {
	copied := make(chan struct{})
	go func() { a.copied.Wait(); close(copied) }()
	timer := a.clock.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-copied:
	case <-timer.C():
	}
	a.endLog(a.worker)
}

// exited notes the end of a run.
func (w *worker) exited(i *instance, process *container.Process) {
	exit := process.Exit()
	state := &corev1.ContainerStateTerminated{ExitCode: int32(exit.Code), Signal: int32(exit.Signal), Reason: "Error"}
	if exit.Code == 0 {
		state.Reason = "Completed"
	}
	state.Message = w.terminationMessage(i, exit.Code)
	w.noteExit(i, state)
}

func (w *worker) noteExit(i *instance, state *corev1.ContainerStateTerminated) {
	now := w.clock.Now()
	state.StartedAt, state.FinishedAt = metav1.NewTime(i.startedAt).Rfc3339Copy(), metav1.NewTime(now).Rfc3339Copy()
	state.ContainerID = i.containerID()
	i.endedBefore = i.ended
	i.process, i.stopping, i.started, i.ready, i.ended, i.waiting = nil, false, false, false, state, nil
	if i.endProbes != nil {
		i.endProbes()
		i.endProbes = nil
	}
	if now.Sub(i.startedAt) >= 2*i.crash.max {
		i.crash.reset()
	}
	i.notBefore = now.Add(i.crash.next())
}

// sayCrashLoop says that the container waits before it is started again.
func (w *worker) sayCrashLoop(i *instance) {
	if i.ended == nil || i.waiting != nil && i.waiting.Reason == "CrashLoopBackOff" {
		return
	}
	delay := i.crash.delay
	w.eventf(i, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)",
		i.spec.Name, w.pod.Name, w.pod.Namespace, w.pod.UID)
	i.say("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
		delay, i.spec.Name, w.pod.Name, w.pod.Namespace, w.pod.UID))
}
