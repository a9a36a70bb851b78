package podworker

import (
	"context"
	"errors"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
)

// minimalShutdown is what a container has after its hook, however long that took.
const minimalShutdown = 2 * time.Second

// stop asks a container to end: hook, SIGTERM and at last SIGKILL. Its exit comes as a letter.
func (i *instance) stop(ctx context.Context, why string, grace time.Duration) {
	if i.stopping || i.process == nil { // one that is being started is stopped when it runs
		return
	}
	i.stopping = true
	i.eventf(corev1.EventTypeNormal, "Killing", "%s", why)
	process, hook := i.process, i.preStop()
	go i.shutDown(ctx, process, hook, grace)
}

// shutDown does so in a goroutine of its own.
func (i *instance) shutDown(ctx context.Context, process *container.Process, hook func(context.Context),
	grace time.Duration) {
	end := i.pod.Clock.Now().Add(grace)
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
		grace = max(end.Sub(i.pod.Clock.Now()), minimalShutdown)
	}
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, container.ErrNotRunning) {
		i.pod.Log.Error(err, "Could not send SIGTERM", "pod", i.pod.first.Name)
	}
	timer := i.pod.Clock.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-process.Done():
	case <-timer.C():
		process.Kill()
	}
}
