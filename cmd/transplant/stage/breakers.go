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
	targets := []string{target}
	if shoot, isShoot := strings.CutPrefix(target, shootTarget); isShoot {
		targets = nil // whoever is cut from a shoot is cut from it by every name
		for _, host := range hostsOf(shoot) {
			targets = append(targets, shootTarget+host)
		}
	}
	var links []*link.Link
	for _, target := range targets {
		l, err := w.landscape.Link(actor, target)
		if err != nil {
			return world.Injection{}, err
		}
		links = append(links, l)
	}
	var injections []*link.Injection
	for _, l := range links {
		injections = append(injections, l.BeginWith(fault, hook))
	}
	return injection(injections...), nil
}

// injection is one of several parts, healed together.
func injection(parts ...*link.Injection) world.Injection {
	return world.Injection{
		Heal: func(context.Context) error {
			for _, part := range parts {
				part.Heal()
			}
			return nil
		},
		Touched: func() int {
			touched := 0
			for _, part := range parts {
				touched += part.Touched()
			}
			return touched
		},
	}
}
