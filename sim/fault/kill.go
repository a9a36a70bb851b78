package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Kill ends a process with SIGKILL; it is started again by whoever supervises it.
type Kill struct {
	Process `json:",inline"`
}

var _ Fault = &Kill{}

// Name is "kill(process)".
func (k *Kill) Name() string { return k.name(world.Kill) }

// Needs processes that can be broken.
func (k *Kill) Needs() world.Ability { return world.BreakProcesses }

// Check finds unknown processes.
func (k *Kill) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return k.check(path, on)
}

// Inject kills the process.
func (k *Kill) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return k.inject(ctx, w, world.Kill)
}
