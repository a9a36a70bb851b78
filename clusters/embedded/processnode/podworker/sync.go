package podworker

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sync does what the pod needs now. It is called after every letter and at every time that was asked for; it never
// waits.
func (w *Worker) sync(ctx context.Context) {
	w.beginStop()
	switch w.pod.phase {
	case phaseNew:
		w.sandbox.prepare(ctx)
	case phaseReady:
		w.sandbox.renew(ctx)
		w.pod.checkDeadline()
		if w.pod.initialized || w.runInit(ctx) {
			w.pod.initialized = true
			w.runMain(ctx)
		}
	}
	// Not part of the switch: what has just been decided is done at once.
	if w.pod.phase == phaseStopping {
		w.stopAll(ctx)
	}
}

// beginStop notices that the pod is to end.
func (w *Worker) beginStop() {
	if !w.pod.gone && w.pod.seen.DeletionTimestamp == nil && w.pod.failure == (failure{}) {
		return
	}
	if w.pod.stop() {
		w.hurry()
	}
}

// runInit runs the init containers one after the other. It returns true when the main containers may start.
func (w *Worker) runInit(ctx context.Context) bool {
	for _, i := range w.containers.init {
		if i.sidecar {
			i.keepRunning(ctx)
			if !i.started || !i.alive() {
				return false
			}
			continue
		}
		if i.done() {
			continue
		}
		if !i.alive() && i.ended != nil && !i.mayRestart(w.pod.seen.Spec.RestartPolicy) {
			w.pod.stop() // an init container has failed for good, and the pod with it
			return false
		}
		i.keepRunning(ctx)
		return false
	}
	return true
}

// runMain keeps the main containers and the sidecars running, and ends the pod when all main containers are done.
func (w *Worker) runMain(ctx context.Context) {
	done := true
	for _, i := range w.containers.main {
		if !i.alive() && i.ended != nil && !i.mayRestart(w.pod.seen.Spec.RestartPolicy) {
			continue
		}
		done = false
		i.keepRunning(ctx)
	}
	if done {
		w.pod.stop()
		return
	}
	for _, i := range w.containers.init {
		if i.sidecar {
			i.keepRunning(ctx)
		}
	}
}

// stopAll ends the containers: all but the sidecars at once, then the sidecars, the last one first.
func (w *Worker) stopAll(ctx context.Context) {
	alive := false
	for _, i := range w.containers.all() {
		if !i.sidecar && i.alive() {
			alive = true
			i.stop(ctx, "Stopping container "+i.spec.Name, w.pod.remaining())
		}
	}
	if alive {
		return
	}
	for _, i := range slices.Backward(w.containers.init) {
		if i.alive() {
			i.stop(ctx, "Stopping container "+i.spec.Name, w.pod.remaining())
			return
		}
	}
	if !w.sandbox.preparing {
		w.pod.phase = phaseStopped
	}
}

// hurry kills what is still alive after a grace period that has been shortened.
func (w *Worker) hurry() {
	for _, i := range w.containers.all() {
		if process := i.process; process != nil && i.stopping {
			w.pod.Clock.AfterFunc(w.pod.grace(), process.Kill)
		}
	}
}

// deleteRetry is when a pod is removed again that could not be removed.
const deleteRetry = time.Second

// deleteTimeout bounds the request that removes a pod.
const deleteTimeout = 10 * time.Second

// deleteWhenWritten removes a pod that is to go from the API, once its last status is there.
func (w *Worker) deleteWhenWritten(ctx context.Context) {
	if w.pod.phase != phaseStopped || w.pod.seen.DeletionTimestamp == nil || w.pod.gone || w.deleted {
		return
	}
	if !w.report.writer.UpToDate() {
		return // the writer sends a letter
	}
	w.deleted = true
	name, namespace, uid := w.pod.seen.Name, w.pod.seen.Namespace, w.pod.seen.UID
	w.pod.mail.elsewhere(func() func() {
		limited, cancel := context.WithTimeout(ctx, deleteTimeout)
		defer cancel()
		now := int64(0)
		err := w.pod.Client.CoreV1().Pods(namespace).Delete(limited, name, metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid},
		})
		return func() {
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				w.pod.Log.V(1).Info("Pod is not removed", "pod", namespace+"/"+name, "reason", err.Error())
				w.deleted = false
				w.pod.Clock.AfterFunc(deleteRetry, func() { w.pod.mail.post(func() {}) })
			}
		}
	})
}
