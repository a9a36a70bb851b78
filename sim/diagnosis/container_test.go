package diagnosis

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// ended is the end of a run of so many seconds.
func ended(code, lived int, reason string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ContainerID: "run", ExitCode: int32(code), Reason: reason,
		StartedAt: metav1.NewTime(noon), FinishedAt: metav1.NewTime(noon.Add(time.Duration(lived) * time.Second)),
	}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

var running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

func TestContainer_State(t *testing.T) {
	t.Parallel()
	const young, old = time.Second, time.Hour
	for _, c := range []struct {
		name   string
		status corev1.ContainerStatus
		isInit bool
		age    time.Duration
		want   State
		says   string // part of what it says
	}{
		{"runs and is ready", corev1.ContainerStatus{State: running, Ready: true}, false, young, Fine, ""},
		{"is being created", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}, false, young, Fine, ""},
		{"is being created for long", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}, false, old, Suspect,
			"ContainerCreating"},
		{"runs after it has crashed often", corev1.ContainerStatus{
			State: running, Ready: true, RestartCount: 9,
			LastTerminationState: corev1.ContainerState{Terminated: ended(3, 0, "Error")},
		}, false, young, Fine, ""},
		{"runs and is not ready", corev1.ContainerStatus{State: running, RestartCount: 9}, false, old, Suspect,
			"it runs and is not ready"},
		{"has crashed once", corev1.ContainerStatus{State: corev1.ContainerState{Terminated: ended(3, 0, "Error")}}, false,
			old, Suspect, "exit code 3, restarts: 0"},
		{"crashes again and again", corev1.ContainerStatus{
			State: waiting("CrashLoopBackOff", "back-off"), RestartCount: 3,
			LastTerminationState: corev1.ContainerState{Terminated: ended(3, 1, "Error")},
		}, false, young, Crashing, "exit code 3, restarts: 3"},
		{"ends well again and again", corev1.ContainerStatus{
			State: waiting("CrashLoopBackOff", "back-off"), RestartCount: 3,
			LastTerminationState: corev1.ContainerState{Terminated: ended(0, 1, "Completed")},
		}, false, young, Crashing, "exit code 0, restarts: 3"},
		{"has ended often on a slow machine, after long runs", corev1.ContainerStatus{
			State: waiting("CrashLoopBackOff", "back-off"), RestartCount: 4,
			LastTerminationState: corev1.ContainerState{Terminated: ended(1, 20, "Error")},
		}, false, young, Suspect, "exit code 1, restarts: 4"},
		{"was killed for its memory", corev1.ContainerStatus{
			State: waiting("CrashLoopBackOff", ""), RestartCount: 3,
			LastTerminationState: corev1.ContainerState{Terminated: ended(137, 1, "OOMKilled")},
		}, false, young, Crashing, "exit code 137 (OOMKilled), restarts: 3"},
		{"its program was not found once", corev1.ContainerStatus{
			State: corev1.ContainerState{Terminated: ended(128, 0, "StartError")},
		}, false, young, Suspect, "exit code 128 (StartError)"},
		{"its program is not found", corev1.ContainerStatus{
			State: waiting("CrashLoopBackOff", ""), RestartCount: 1,
			LastTerminationState: corev1.ContainerState{Terminated: ended(128, 0, "StartError")},
		}, false, young, Unstartable, "exit code 128 (StartError), restarts: 1"},
		{"its image is not there", corev1.ContainerStatus{State: waiting("ErrImagePull", "no image\n\"x\"")}, false, young,
			Unstartable, `ErrImagePull: no image "x"`},
		{"its image is waited for", corev1.ContainerStatus{State: waiting("ImagePullBackOff", "")}, false, young, Unstartable,
			"ImagePullBackOff"},
		{"its Secret may come yet", corev1.ContainerStatus{State: waiting("CreateContainerConfigError", "no secret")}, false,
			young, Suspect, "no secret"},
		{"its Secret does not come", corev1.ContainerStatus{State: waiting("CreateContainerConfigError", "no secret")}, false,
			old, Unstartable, "no secret"},
		{"an init container that is done",
			corev1.ContainerStatus{State: corev1.ContainerState{Terminated: ended(0, 1, "Completed")}}, true, old, Fine, ""},
		{"an init container that fails", corev1.ContainerStatus{
			State: corev1.ContainerState{Terminated: ended(1, 1, "Error")}, RestartCount: 5,
		}, true, old, Crashing, "exit code 1, restarts: 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one := containerOf(c.status, c.isInit)
			if got := one.state(c.age); got != c.want {
				t.Errorf("state %d, want %d", got, c.want)
			}
			if got := one.why(); c.want != Fine && !strings.Contains(got, c.says) {
				t.Errorf("says %q, want %q in it", got, c.says)
			}
		})
	}
}
