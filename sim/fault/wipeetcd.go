package fault

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

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
	if known := on.ShootNames(); !slices.Contains(known, e.Shoot) {
		return field.ErrorList{field.NotSupported(path.Child("shoot"), e.Shoot, known)}
	}
	return nil
}

// Inject wipes the disk.
func (e *WipeEtcd) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.WipeEtcd(ctx, e.Shoot)
}
