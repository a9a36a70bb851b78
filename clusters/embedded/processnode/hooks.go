package processnode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/probe"
)

// runHook runs a container's postStart or preStop hook until ctx is done.
func (w *worker) runHook(ctx context.Context, handler *corev1.LifecycleHandler, target probe.Target) error {
	switch {
	case handler.Exec != nil:
		var output bytes.Buffer
		code, err := target.Exec(ctx, handler.Exec.Command, &output)
		if err == nil && code != 0 {
			err = fmt.Errorf("command %q exited with %d: %s", strings.Join(handler.Exec.Command, " "), code,
				strings.TrimSpace(output.String()))
		}
		return err
	case handler.HTTPGet != nil:
		response, err := target.Get(ctx, handler.HTTPGet)
		if err != nil {
			return err
		}
		return response.Body.Close()
	case handler.Sleep != nil:
		timer := w.clock.NewTimer(time.Duration(handler.Sleep.Seconds) * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
		return nil
	}
	return errors.New("the hook is of a kind that this node does not know")
}

// preStop returns what to do before the container is asked to end, or nil.
func (w *worker) preStop(i *instance) func(context.Context) {
	if i.spec.Lifecycle == nil || i.spec.Lifecycle.PreStop == nil {
		return nil
	}
	target, handler := w.target(i), i.spec.Lifecycle.PreStop
	return func(ctx context.Context) {
		err := w.runHook(ctx, handler, target)
		if err != nil && ctx.Err() == nil {
			w.mail.post(func() { w.eventf(i, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed: %v", err) })
		}
	}
}
