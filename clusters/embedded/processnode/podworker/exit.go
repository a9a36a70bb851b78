package podworker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/containerlog"
)

// exited notes the end of a run.
func (i *instance) exited(process *container.Process) {
	exit := process.Exit()
	state := &corev1.ContainerStateTerminated{ExitCode: int32(exit.Code), Signal: int32(exit.Signal), Reason: "Error"}
	if exit.Code == 0 {
		state.Reason = "Completed"
	}
	state.Message = i.terminationMessage(exit.Code)
	i.noteExit(state)
}

func (i *instance) noteExit(state *corev1.ContainerStateTerminated) {
	now := i.pod.Clock.Now()
	state.StartedAt, state.FinishedAt = metav1.NewTime(i.startedAt).Rfc3339Copy(), metav1.NewTime(now).Rfc3339Copy()
	state.ContainerID = i.containerID()
	i.endedBefore = i.ended
	i.process, i.stopping, i.started, i.ready, i.ended, i.waiting = nil, false, false, false, state, nil
	if i.endProbes != nil {
		i.endProbes()
		i.endProbes = nil
	}
	if now.Sub(i.startedAt) >= 2*i.crash.Max {
		i.crash.Reset()
	}
	i.notBefore = now.Add(i.crash.Next())
}

// sayCrashLoop says that the container waits before it is started again.
func (i *instance) sayCrashLoop() {
	if i.ended == nil || i.waiting != nil && i.waiting.Reason == "CrashLoopBackOff" {
		return
	}
	delay := i.crash.Last()
	i.eventf(corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)",
		i.spec.Name, i.pod.seen.Name, i.pod.seen.Namespace, i.pod.seen.UID)
	i.say("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
		delay, i.spec.Name, i.pod.seen.Name, i.pod.seen.Namespace, i.pod.seen.UID))
}

const (
	maxMessage     = 4096 // bytes of a termination message
	maxLogMessage  = 2048 // bytes of a log that stands in for one
	logMessageTail = 80   // lines of it
)

// terminationMessage is what a container has left behind for its status.
func (i *instance) terminationMessage(exitCode int) string {
	content, err := os.ReadFile(filepath.Join(i.sandbox.containerFolder(i.spec.Name), "termination-log"))
	if err != nil {
		i.pod.Log.Error(err, "Could not read a termination message", "pod", i.pod.seen.Name, "container", i.spec.Name)
	}
	if len(content) > 0 || exitCode == 0 ||
		i.spec.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		return string(content[:min(len(content), maxMessage)])
	}
	var tail bytes.Buffer
	lines := int64(logMessageTail)
	if err := i.log.Read(context.Background(), &tail, containerlog.Options{Tail: &lines}); err != nil {
		i.pod.Log.Error(err, "Could not read the end of a log", "pod", i.pod.seen.Name, "container", i.spec.Name)
	}
	return string(tail.Bytes()[max(0, tail.Len()-maxLogMessage):])
}
