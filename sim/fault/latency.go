package fault

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Latency delays the bytes of a link.
type Latency struct {
	Link `json:",inline"`
	// Delay of every byte.
	Delay metav1.Duration `json:"delay"`
	// Jitter by which the delay varies, up and down.
	Jitter metav1.Duration `json:"jitter,omitzero" zero:"none"`
}

var _ Fault = &Latency{}

func (l *Latency) harm() link.Fault {
	return wire.Latency{Direction: l.Direction, Delay: l.Delay.Duration, Jitter: l.Jitter.Duration}
}

// Name is "latency(actor,target)".
func (l *Latency) Name() string { return l.name("latency") }

// Check finds unknown links and impossible delays.
func (l *Latency) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return l.check(path, on, l.harm())
}

// Inject slows the link down.
func (l *Latency) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return l.inject(ctx, w, l.harm())
}
