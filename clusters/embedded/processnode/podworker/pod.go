package podworker

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// pod is what a worker knows of its pod, and how far it has brought it. The parts of the worker share it.
type pod struct {
	*Node
	mail *mailbox

	first *corev1.Pod // as seen first; may be read from any goroutine
	seen  *corev1.Pod // as seen last
	gone  bool        // it is not in the API any more

	phase       phase
	failure     failure // why the pod has failed as a whole, if it has
	started     time.Time
	initialized bool
	stopBy      time.Time // when the last container is killed, once the pod is being stopped
}

// phase is how far a pod has come. It only grows.
type phase int

const (
	phaseNew      phase = iota // nothing is there yet
	phaseReady                 // it has an address and its volumes
	phaseStopping              // no container is started any more
	phaseStopped               // all containers have ended
)

// failure is a reason that fails a pod as a whole.
type failure struct{ reason, message string }

// stop lets no container start any more. A second call can only shorten the time that is left, and says whether it has:
// then those that are stopping have to hurry.
func (p *pod) stop() (shortened bool) {
	by := p.Clock.Now().Add(p.grace())
	if p.phase >= phaseStopping && !by.Before(p.stopBy) {
		return false
	}
	shortened = p.phase >= phaseStopping
	p.phase, p.stopBy = max(p.phase, phaseStopping), by
	return shortened
}

// grace is how long the pod's containers have between the request to end and their death.
func (p *pod) grace() time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if p.seen.Spec.TerminationGracePeriodSeconds != nil {
		seconds = *p.seen.Spec.TerminationGracePeriodSeconds
	}
	if p.seen.DeletionGracePeriodSeconds != nil {
		seconds = *p.seen.DeletionGracePeriodSeconds
	}
	return max(time.Duration(seconds)*time.Second, time.Second)
}

// checkDeadline fails a pod that has been active for longer than it may.
func (p *pod) checkDeadline() {
	if p.seen.Spec.ActiveDeadlineSeconds == nil {
		return
	}
	deadline := p.started.Add(time.Duration(*p.seen.Spec.ActiveDeadlineSeconds) * time.Second)
	if p.Clock.Now().Before(deadline) {
		p.mail.wakeAt(deadline)
		return
	}
	p.fail("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
}

// fail ends the pod for a reason of its own.
func (p *pod) fail(reason, message string) {
	if p.phase >= phaseStopping {
		return
	}
	p.failure = failure{reason, message}
	p.Recorder.Event(p.seen, corev1.EventTypeWarning, reason, message)
	p.stop()
}

func (p *pod) remaining() time.Duration {
	return max(p.stopBy.Sub(p.Clock.Now()), minimalShutdown)
}
