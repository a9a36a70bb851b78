package podworker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/backoff"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
)

// keepRunning starts the container if it is time to.
func (i *instance) keepRunning(ctx context.Context) {
	if i.alive() {
		return
	}
	now := i.pod.Clock.Now()
	if now.Before(i.notBefore) {
		i.sayCrashLoop()
		i.pod.mail.wakeAt(i.notBefore)
		return
	}
	if now.Before(i.configRetry) {
		i.pod.mail.wakeAt(i.configRetry)
		return
	}
	if programs, known := i.pull(); known {
		i.start(ctx, programs)
	}
}

func (i *instance) start(ctx context.Context, programs string) {
	i.starting, i.started, i.ready = true, false, false
	if i.waiting == nil && i.ended == nil {
		i.say("ContainerCreating", "")
	}
	a := &attempt{Node: i.pod.Node, pod: i.sandbox.addressed(), spec: i.spec, sandbox: i.sandbox,
		folder: i.sandbox.containerFolder(i.spec.Name), programs: programs, run: i.runs}
	if a.run > 0 {
		a.forgetOldLogs()
	}
	i.pod.mail.elsewhere(func() func() {
		err := a.do(ctx)
		return func() { i.startEnded(ctx, a, err) }
	})
}

// startEnded notes that the container runs, or why not.
func (i *instance) startEnded(ctx context.Context, a *attempt, err error) {
	i.starting, i.environment = false, a.environment
	var config errConfig
	var start *container.StartError
	switch {
	case err == nil:
		i.running(ctx, a)
	case errors.As(err, &config):
		i.sayError("CreateContainerConfigError", err)
		i.configRetry = i.pod.Clock.Now().Add(configRetry)
	case errors.As(err, &start):
		i.eventf(corev1.EventTypeWarning, "Failed", "Error: %v", err)
		i.runs++
		now := i.pod.Clock.Now()
		i.startedAt, i.log, i.id = now, a.log, newID()
		i.noteExit(&corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: err.Error()})
		a.endLog()
	default:
		i.sayError("CreateContainerError", err)
		i.notBefore = i.pod.Clock.Now().Add(max(i.crash.Next(), i.crash.Base))
	}
	if err != nil && a.log != nil {
		a.endLog()
	}
}

func (i *instance) sayError(reason string, err error) {
	if i.waiting == nil || i.waiting.Message != err.Error() {
		i.eventf(corev1.EventTypeWarning, "Failed", "Error: %v", err)
	}
	i.say(reason, err.Error())
}

func (i *instance) running(ctx context.Context, a *attempt) {
	i.process, i.log, i.id = a.process, a.log, newID()
	i.startedAt, i.waiting, i.stopping = i.pod.Clock.Now(), nil, false
	i.runs++
	i.eventf(corev1.EventTypeNormal, "Created", "Container created")
	i.eventf(corev1.EventTypeNormal, "Started", "Container started")
	process := a.process
	i.pod.mail.elsewhere(func() func() {
		<-process.Done()
		a.drain()
		return func() { i.exited(process) }
	})
	i.afterStart(ctx)
}

// idPrefix names the runtime in containers' IDs.
const idPrefix = "processnode://"

func newID() string {
	var id [32]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

func (i *instance) containerID() string {
	if i.id == "" {
		return ""
	}
	return idPrefix + i.id
}

// imageShown is how long a failed pull is shown as such before it is shown as waiting for the next one.
const imageShown = time.Second

// imageWait is what a container has seen of its image.
type imageWait struct {
	backoff backoff.Delay
	tried   time.Time
	next    time.Time
}

// pull finds the folder of programs that the container's image stands for. Where there is none it says so, as a
// kubelet does.
func (i *instance) pull() (programs string, known bool) {
	programs, known = i.pod.Images[i.spec.Image]
	if known {
		i.eventf(corev1.EventTypeNormal, "Pulled", "Container image %q already present on machine", i.spec.Image)
		return programs, true
	}
	now := i.pod.Clock.Now()
	reason, message := "ErrImagePull", fmt.Sprintf("this node knows no image %q, only %s", i.spec.Image,
		strings.Join(slices.Sorted(maps.Keys(i.pod.Images)), ", "))
	if i.spec.ImagePullPolicy == corev1.PullNever {
		reason = "ErrImageNeverPull"
	}
	switch {
	case !now.Before(i.image.next):
		i.image.tried, i.image.next = now, now.Add(i.image.backoff.Next())
		i.eventf(corev1.EventTypeNormal, "Pulling", "Pulling image %q", i.spec.Image)
		i.eventf(corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %s", i.spec.Image, message)
		i.eventf(corev1.EventTypeWarning, "Failed", "Error: %s", reason)
		i.say(reason, message)
		i.pod.mail.wakeAt(now.Add(imageShown))
	case reason == "ErrImagePull" && !now.Before(i.image.tried.Add(imageShown)):
		if i.waiting == nil || i.waiting.Reason != "ImagePullBackOff" {
			i.eventf(corev1.EventTypeNormal, "BackOff", "Back-off pulling image %q", i.spec.Image)
			i.eventf(corev1.EventTypeWarning, "Failed", "Error: ImagePullBackOff")
		}
		i.say("ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", i.spec.Image, message))
		i.pod.mail.wakeAt(i.image.next)
	case reason == "ErrImagePull":
		i.pod.mail.wakeAt(i.image.tried.Add(imageShown))
	default:
		i.pod.mail.wakeAt(i.image.next)
	}
	return "", false
}

func (i *instance) say(reason, message string) {
	i.waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
}
