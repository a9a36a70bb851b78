package fault

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Kill ends a process with SIGKILL. An actor, and a program of a shoot's control plane, is started again by whoever
// supervises it; a program of a cluster returns with the heal.
type Kill struct {
	Process `json:",inline"`
	// RestartDelay is how long it does nothing although it was started again; a heal ends that.
	RestartDelay metav1.Duration `json:"restartDelay,omitzero" zero:"none"`
}

var _ Fault = &Kill{}

// Name is "kill(process)".
func (k *Kill) Name() string { return k.name(world.Kill) }

// Traits of a process that must run again.
func (k *Kill) Traits() Traits {
	t := k.traits()
	t.Revives, t.Momentary = k.place(), true
	if k.RestartDelay.Duration != 0 {
		t.Ability = world.DelayRestarts
	}
	return t
}

// Check finds unknown processes, and delays of what nobody starts again.
func (k *Kill) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := k.check(path, on)
	switch delay := k.RestartDelay.Duration; {
	case delay < 0:
		errs = append(errs, field.Invalid(path.Child("restartDelay"), delay.String(), "must not be negative"))
	case delay > 0 && k.Cluster != "":
		errs = append(errs, field.Invalid(path.Child("restartDelay"), delay.String(),
			"a program of a cluster stays dead until it is healed: leave it out"))
	}
	return errs
}

// Inject kills the process.
func (k *Kill) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	if k.RestartDelay.Duration == 0 {
		return k.inject(ctx, w, world.Kill)
	}
	return w.KillFor(ctx, world.Process(k.Process), k.RestartDelay.Duration)
}
