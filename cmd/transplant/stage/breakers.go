package stage

import (
	"context"
	"strings"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.LinkBreaker = &World{}

const shootTarget = "shoot/"

// BreakLink implements world.LinkBreaker.
func (w *World) BreakLink(_ context.Context, actor, target string, fault link.Fault, hook link.Hook) (world.Injection, error) {
	if target == switchboard.Shoots {
		proxy, err := w.landscape.Proxy(actor)
		if err != nil {
			return world.Injection{}, err
		}
		return injection(proxy.BeginAllWith(fault, hook)), nil
	}
	if shoot, isShoot := strings.CutPrefix(target, shootTarget); isShoot {
		target = shootTarget + w.operation(shoot).APIServerHost()
	}
	l, err := w.landscape.Link(actor, target)
	if err != nil {
		return world.Injection{}, err
	}
	return injection(l.BeginWith(fault, hook)), nil
}

func injection(i *link.Injection) world.Injection {
	return world.Injection{
		Heal:    func(context.Context) error { i.Heal(); return nil },
		Touched: i.Touched,
	}
}
