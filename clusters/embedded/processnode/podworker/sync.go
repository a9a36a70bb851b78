package podworker

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// sync does what the pod needs now. It is called after every letter and at every time that was asked for; it never
// waits.
func (w *Worker) sync(ctx context.Context) {
	w.beginStop()
	switch w.phase {
	case phaseNew:
		w.prepare(ctx)
	case phaseReady:
		w.renew(ctx)
		w.checkDeadline()
		if w.initialized || w.runInit(ctx) {
			w.initialized = true
			w.runMain(ctx)
		}
	}
	// Not part of the switch: what has just been decided is done at once.
	if w.phase == phaseStopping {
		w.stopAll(ctx)
	}
}

// beginStop notices that the pod is to end.
func (w *Worker) beginStop() {
	if !w.gone && w.pod.DeletionTimestamp == nil && w.failure == (failure{}) {
		return
	}
	w.stop(w.grace())
}

// stop lets no container start any more. A second call can only shorten the time that is left.
func (w *Worker) stop(grace time.Duration) {
	by := w.Clock.Now().Add(grace)
	if w.phase >= phaseStopping {
		if by.Before(w.stopBy) {
			w.stopBy = by
			w.hurry(grace)
		}
		return
	}
	w.phase, w.stopBy = phaseStopping, by
}

// grace is how long the pod's containers have between the request to end and their death.
func (w *Worker) grace() time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if w.pod.Spec.TerminationGracePeriodSeconds != nil {
		seconds = *w.pod.Spec.TerminationGracePeriodSeconds
	}
	if w.pod.DeletionGracePeriodSeconds != nil {
		seconds = *w.pod.DeletionGracePeriodSeconds
	}
	return max(time.Duration(seconds)*time.Second, time.Second)
}

// runInit runs the init containers one after the other. It returns true when the main containers may start.
func (w *Worker) runInit(ctx context.Context) bool {
	for _, i := range w.init {
		if i.sidecar {
			w.keepRunning(ctx, i)
			if !i.started || !i.alive() {
				return false
			}
			continue
		}
		if i.done() {
			continue
		}
		if !i.alive() && i.ended != nil && !i.mayRestart(w.pod.Spec.RestartPolicy) {
			w.stop(w.grace()) // an init container has failed for good, and the pod with it
			return false
		}
		w.keepRunning(ctx, i)
		return false
	}
	return true
}

// runMain keeps the main containers and the sidecars running, and ends the pod when all main containers are done.
func (w *Worker) runMain(ctx context.Context) {
	done := true
	for _, i := range w.main {
		if !i.alive() && i.ended != nil && !i.mayRestart(w.pod.Spec.RestartPolicy) {
			continue
		}
		done = false
		w.keepRunning(ctx, i)
	}
	if done {
		w.stop(w.grace())
		return
	}
	for _, i := range w.init {
		if i.sidecar {
			w.keepRunning(ctx, i)
		}
	}
}

// keepRunning starts the container if it is time to.
func (w *Worker) keepRunning(ctx context.Context, i *instance) {
	if i.alive() {
		return
	}
	now := w.Clock.Now()
	if now.Before(i.notBefore) {
		w.sayCrashLoop(i)
		w.wakeAt(i.notBefore)
		return
	}
	if now.Before(i.configRetry) {
		w.wakeAt(i.configRetry)
		return
	}
	if programs, known := w.pull(i); known {
		w.start(ctx, i, programs)
	}
}

// checkDeadline fails a pod that has been active for longer than it may.
func (w *Worker) checkDeadline() {
	if w.pod.Spec.ActiveDeadlineSeconds == nil {
		return
	}
	deadline := w.started.Add(time.Duration(*w.pod.Spec.ActiveDeadlineSeconds) * time.Second)
	if w.Clock.Now().Before(deadline) {
		w.wakeAt(deadline)
		return
	}
	w.fail("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
}

// fail ends the pod for a reason of its own.
func (w *Worker) fail(reason, message string) {
	if w.phase >= phaseStopping {
		return
	}
	w.failure = failure{reason, message}
	w.Recorder.Event(w.pod, corev1.EventTypeWarning, reason, message)
	w.stop(w.grace())
}
