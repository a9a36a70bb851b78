package fault

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// WipeEtcd replaces the disk of a shoot's etcd by an empty one, as when it breaks: the pod that has it is gone, and its
// successor finds nothing. It ends by itself.
type WipeEtcd struct {
	// Shoot whose etcd loses its data, on every seed that runs one.
	Shoot string `json:"shoot"`
}

var _ Fault = &WipeEtcd{}

// Name is "wipeEtcd(shoot)".
func (e *WipeEtcd) Name() string { return fmt.Sprintf("wipeEtcd(%s)", e.Shoot) }

// Traits are the loss of a shoot's data.
func (e *WipeEtcd) Traits() Traits {
	return Traits{Ability: world.WipeDisks, Harm: Harm{Shoot: e.Shoot, Wiped: true}, Momentary: true}
}

// Check finds unknown shoots.
func (e *WipeEtcd) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return choice.Check(path.Child("shoot"), e.Shoot, on.ShootNames())
}

// Inject wipes the disk.
func (e *WipeEtcd) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.WipeEtcd(ctx, e.Shoot)
}
