package fault

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Link names one link by who uses it and where it leads.
type Link struct {
	// Actor whose traffic is harmed.
	Actor string `json:"actor"`
	// Target of the traffic: a cluster, cloud, shoots, or shoot/<name>.
	Target string `json:"target"`
	// Direction of the bytes that are harmed; both when not given.
	Direction wire.Direction `json:"direction,omitempty"`
}

// Traits are those of every fault of a link.
func (l Link) Traits() Traits { return Traits{Ability: world.BreakLinks, Actor: l.Actor} }

func (l Link) name(harm string) string { return fmt.Sprintf("%s(%s,%s)", harm, l.Actor, l.Target) }

func (l Link) check(path *field.Path, on landscape.Landscape, harm link.Fault) field.ErrorList {
	errs := choice.Check(path.Child("actor"), l.Actor, on.Actors())
	errs = append(errs, choice.Check(path.Child("target"), l.Target, on.TargetsOf(l.Actor))...)
	if err := harm.Validate(); err != nil {
		errs = append(errs, field.Invalid(path, harm.Name(), err.Error()))
	}
	return errs
}

func (l Link) inject(ctx context.Context, w world.World, harm link.Fault) (world.Injection, error) {
	return w.BreakLink(ctx, l.Actor, l.Target, harm, nil)
}
