package podworker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/backoff"
)

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
func (w *Worker) pull(i *instance) (programs string, known bool) {
	programs, known = w.Images[i.spec.Image]
	if known {
		w.eventf(i, corev1.EventTypeNormal, "Pulled", "Container image %q already present on machine", i.spec.Image)
		return programs, true
	}
	now := w.Clock.Now()
	reason, message := "ErrImagePull", fmt.Sprintf("this node knows no image %q, only %s", i.spec.Image,
		strings.Join(slices.Sorted(maps.Keys(w.Images)), ", "))
	if i.spec.ImagePullPolicy == corev1.PullNever {
		reason = "ErrImageNeverPull"
	}
	switch {
	case !now.Before(i.image.next):
		i.image.tried, i.image.next = now, now.Add(i.image.backoff.Next())
		w.eventf(i, corev1.EventTypeNormal, "Pulling", "Pulling image %q", i.spec.Image)
		w.eventf(i, corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %s", i.spec.Image, message)
		w.eventf(i, corev1.EventTypeWarning, "Failed", "Error: %s", reason)
		i.say(reason, message)
		w.wakeAt(now.Add(imageShown))
	case reason == "ErrImagePull" && !now.Before(i.image.tried.Add(imageShown)):
		if i.waiting == nil || i.waiting.Reason != "ImagePullBackOff" {
			w.eventf(i, corev1.EventTypeNormal, "BackOff", "Back-off pulling image %q", i.spec.Image)
			w.eventf(i, corev1.EventTypeWarning, "Failed", "Error: ImagePullBackOff")
		}
		i.say("ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", i.spec.Image, message))
		w.wakeAt(i.image.next)
	case reason == "ErrImagePull":
		w.wakeAt(i.image.tried.Add(imageShown))
	default:
		w.wakeAt(i.image.next)
	}
	return "", false
}

func (i *instance) say(reason, message string) {
	i.waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
}
