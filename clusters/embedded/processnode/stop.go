package processnode

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
)

// minimalShutdown is what a container has after its hook, however long that took.
const minimalShutdown = 2 * time.Second

// stopAll ends the containers: all but the sidecars at once, then the sidecars, the last one first.
func (w *worker) stopAll(ctx context.Context) {
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

func (w *worker) remaining() time.Duration {
	return max(w.stopBy.Sub(w.clock.Now()), minimalShutdown)
}

// stopInstance asks a container to end: hook, SIGTERM and at last SIGKILL. Its exit comes as a letter.
func (w *worker) stopInstance(ctx context.Context, i *instance, why string, grace time.Duration) {
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
func (w *worker) shutDown(ctx context.Context, process *container.Process, hook func(context.Context),
	grace time.Duration) {
	end := w.clock.Now().Add(grace)
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
		grace = max(end.Sub(w.clock.Now()), minimalShutdown)
	}
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, container.ErrNotRunning) {
		w.log.Error(err, "Could not send SIGTERM", "pod", w.pod.Name)
	}
	timer := w.clock.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-process.Done():
	case <-timer.C():
		process.Kill()
	}
}

// hurry kills what is still alive after a grace period that has been shortened.
func (w *worker) hurry(grace time.Duration) {
	for _, i := range w.all() {
		if process := i.process; process != nil && i.stopping {
			w.clock.AfterFunc(grace, process.Kill)
		}
	}
}
