package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// State is how far a container, or an object that waits for an extension, has come.
type State int

// States.
const (
	// Fine is a container that runs or has done its work, or of which there is nothing to say yet.
	Fine State = iota
	// Suspect is one that has ended or waits, or an object that is not done: it may still come up.
	Suspect
	// Unstartable is a container that nothing can be started of: its image, its program or its configuration is
	// missing.
	Unstartable
	// Crashing is a container that ends again and again, soon after each start.
	Crashing
	// Silent is an extension that gives no sign of life although an object waits for it.
	Silent
	// Failing is an extension that goes on failing at an object.
	Failing
)

// Hopeless says whether it is not worth waiting any longer.
func (s State) Hopeless() bool { return s >= Unstartable }

// Bounds of patience with a container. A slow machine makes a run longer, it does not make it end: so the runs that
// count are those which were short.
const (
	mostRestarts = 3
	shortRun     = 5 * time.Second
	// startTries of a program that could not be started at all.
	startTries = 2
	// configGrace is how old a pod is when what its configuration refers to must be there.
	configGrace = 30 * time.Second
)

// startError is the reason of a container whose program could not be started.
const startError = "StartError"

// Reasons for which a container waits that pass only if somebody changes something: the image is not there.
var withoutImage = []string{
	"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
}

// Reasons for which a container waits that also pass by themselves: what it refers to may come a moment later.
var withoutConfig = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}

// Container is one of a pod, as the pod's status shows it.
type Container struct {
	Name     string
	Init     bool
	Running  bool
	Ready    bool
	Restarts int
	// Waiting and Message are why it does not run; empty when it does.
	Waiting, Message string
	// Ended is the end of the last run that has ended; nil when none has.
	Ended *End
}

// End of a run of a container.
type End struct {
	ID               string // of the run
	ExitCode, Signal int
	Reason, Message  string
	Began, At        time.Time
}

// String contains the exit code, and the signal where that is known.
func (e End) String() string {
	text := fmt.Sprintf("exit code %d", e.ExitCode)
	if e.Signal > 0 {
		text += fmt.Sprintf(", by signal %d", e.Signal)
	}
	if e.Reason != "" && e.Reason != "Error" && e.Reason != "Completed" {
		text += " (" + e.Reason + ")"
	}
	return text
}

// Containers of a pod, init containers first.
func Containers(pod *corev1.Pod) []Container {
	var all []Container
	for i, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range list {
			all = append(all, containerOf(status, i == 0))
		}
	}
	return all
}

func containerOf(status corev1.ContainerStatus, isInit bool) Container {
	c := Container{
		Name: status.Name, Init: isInit, Ready: status.Ready, Running: status.State.Running != nil,
		Restarts: int(status.RestartCount),
	}
	if w := status.State.Waiting; w != nil {
		c.Waiting, c.Message = w.Reason, w.Message
	}
	if t := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated); t != nil {
		c.Ended = &End{
			ID: t.ContainerID, ExitCode: int(t.ExitCode), Signal: int(t.Signal), Reason: t.Reason, Message: t.Message,
			Began: t.StartedAt.Time, At: t.FinishedAt.Time,
		}
	}
	return c
}

// Done says whether an init container has done its work.
func (c Container) Done() bool {
	return c.Init && !c.Running && c.Ended != nil && c.Ended.ExitCode == 0
}

// state of a container in a pod of this age.
func (c Container) state(age time.Duration) State {
	switch {
	case c.Running && c.Ready, c.Done():
		return Fine
	case slices.Contains(withoutImage, c.Waiting), slices.Contains(withoutConfig, c.Waiting) && age >= configGrace:
		return Unstartable
	case c.Running:
		return Suspect
	case c.Ended != nil && c.Ended.Reason == startError && c.Restarts+1 >= startTries:
		return Unstartable
	case c.Ended != nil && c.Restarts >= mostRestarts && c.Ended.At.Sub(c.Ended.Began) < shortRun:
		return Crashing
	case c.Ended != nil, slices.Contains(withoutConfig, c.Waiting), c.Waiting != "" && age >= configGrace:
		return Suspect
	}
	return Fine
}

// neverRan says whether there is no log of it.
func (c Container) neverRan() bool { return !c.Running && c.Ended == nil }

// why it does not come up, in one line.
func (c Container) why() string {
	var parts []string
	if c.Ended != nil {
		parts = append(parts, c.Ended.String(), fmt.Sprintf("restarts: %d", c.Restarts))
		if c.Ended.Message != "" {
			parts = append(parts, oneLine(c.Ended.Message))
		}
	}
	if c.Running {
		parts = append(parts, "it runs and is not ready")
	}
	// What else a container that has ended waits for follows from its end.
	lacks := slices.Contains(withoutImage, c.Waiting) || slices.Contains(withoutConfig, c.Waiting)
	if lacks || c.Waiting != "" && c.Ended == nil {
		parts = append(parts, strings.TrimSuffix(c.Waiting+": "+oneLine(c.Message), ": "))
	}
	return strings.Join(parts, ", ")
}

// oneLine of a message that others have written.
func oneLine(text string) string {
	const most = 500
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
