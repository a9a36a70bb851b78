package podworker

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
)

// minimalShutdown is what a container has after its hook, however long that took.
const minimalShutdown = 2 * time.Second

// stopAll ends the containers: all but the sidecars at once, then the sidecars, the last one first.
func (w *Worker) stopAll(ctx context.Context) {
	alive := false
	for _, i := range w.all() {
		if !i.sidecar && i.alive() {
			alive = true
			w.stopInstance(ctx, i, "Stopping container "+i.spec.Name, w.remaining())
		}
	}
	if alive {
		return
	}
	for _, i := range slices.Backward(w.init) {
		if i.alive() {
			w.stopInstance(ctx, i, "Stopping container "+i.spec.Name, w.remaining())
			return
		}
	}
	if !w.preparing {
		w.phase = phaseStopped
	}
}

func (w *Worker) remaining() time.Duration {
	return max(w.stopBy.Sub(w.Clock.Now()), minimalShutdown)
}

// stopInstance asks a container to end: hook, SIGTERM and at last SIGKILL. Its exit comes as a letter.
func (w *Worker) stopInstance(ctx context.Context, i *instance, why string, grace time.Duration) {
	if i.stopping || i.process == nil { // one that is being started is stopped when it runs
		return
	}
	i.stopping = true
	w.eventf(i, corev1.EventTypeNormal, "Killing", "%s", why)
	process, hook := i.process, w.preStop(i)
	go func() {
		w.shutDown(ctx, process, hook, grace)
	}()
}

// shutDown does so in a goroutine of its own.
func (w *Worker) shutDown(ctx context.Context, process *container.Process, hook func(context.Context),
	grace time.Duration) {
	end := w.Clock.Now().Add(grace)
	if hook != nil {
		limited, cancel := context.WithTimeout(ctx, grace)
		go func() {
			select {
			case <-process.Done():
				cancel()
			case <-limited.Done():
			}
		}()
		hook(limited)
		cancel()
		grace = max(end.Sub(w.Clock.Now()), minimalShutdown)
	}
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, container.ErrNotRunning) {
		w.Log.Error(err, "Could not send SIGTERM", "pod", w.pod.Name)
	}
	timer := w.Clock.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-process.Done():
	case <-timer.C():
		process.Kill()
	}
}

// hurry kills what is still alive after a grace period that has been shortened.
func (w *Worker) hurry(grace time.Duration) {
	for _, i := range w.all() {
		if process := i.process; process != nil && i.stopping {
			w.Clock.AfterFunc(grace, process.Kill)
		}
	}
}

// deleteRetry is when a pod is removed again that could not be removed.
const deleteRetry = time.Second

// deleteTimeout bounds the request that removes a pod.
const deleteTimeout = 10 * time.Second

// deleteWhenWritten removes a pod that is to go from the API, once its last status is there.
func (w *Worker) deleteWhenWritten(ctx context.Context) {
	if w.phase != phaseStopped || w.pod.DeletionTimestamp == nil || w.gone || w.deleted {
		return
	}
	if !w.status.UpToDate() {
		return // the writer sends a letter
	}
	w.deleted = true
	name, namespace, uid := w.pod.Name, w.pod.Namespace, w.pod.UID
	w.elsewhere(func() func() {
		limited, cancel := context.WithTimeout(ctx, deleteTimeout)
		defer cancel()
		now := int64(0)
		err := w.Client.CoreV1().Pods(namespace).Delete(limited, name, metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid},
		})
		return func() {
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				w.Log.V(1).Info("Pod is not removed", "pod", namespace+"/"+name, "reason", err.Error())
				w.deleted = false
				w.Clock.AfterFunc(deleteRetry, func() { w.mail.post(func() {}) })
			}
		}
	})
}
