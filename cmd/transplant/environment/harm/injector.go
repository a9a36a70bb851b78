// Package harm does to a landscape what faults ask for: it cuts links, stops, kills and rebuilds processes, pods and
// clusters, wipes disks, and sets faults of the cloud. Each harm comes with the way to heal it. The scenario says when
// and whom to harm; this package decides nothing.
package harm

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/observe"
	"github.com/transplant-sim/transplant/sim/world"
)

// Injector does harm to a landscape, and heals it.
type Injector struct{ on *observe.Observer }

// New makes an injector that finds its victims by what an observer sees.
func New(on *observe.Observer) *Injector { return &Injector{on: on} }

// BreakLink implements world.Breaker.
func (i *Injector) BreakLink(_ context.Context, actor, target string, fault link.Fault,
	hook requests.Hook) (world.Injection, error) {
	if target == switchboard.Shoots {
		proxy, err := i.on.Landscape.Links().Proxy(actor)
		if err != nil {
			return world.Injection{}, err
		}
		return injection(proxy.BeginAll(fault, hook)), nil
	}
	targets := []string{target}
	if shoot, isShoot := strings.CutPrefix(target, switchboard.ShootPrefix); isShoot {
		targets = nil // whoever is cut from a shoot is cut from it by every name
		for _, host := range environment.HostsOf(shoot) {
			targets = append(targets, switchboard.ShootPrefix+host)
		}
	}
	var links []*link.Link
	for _, target := range targets {
		l, err := i.on.Landscape.Links().Link(actor, target)
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

// strikeTimeout bounds how long a heal waits for what a fault was just doing; it is longer than a fault may take to
// begin, or a victim to be killed.
const strikeTimeout = 90 * time.Second

// injection is one of several parts, healed together.
func injection(parts ...*link.Injection) world.Injection {
	return world.Injection{
		Heal: func(ctx context.Context) error {
			for _, part := range parts {
				part.Heal()
			}
			ctx, cancel := context.WithTimeout(ctx, strikeTimeout)
			defer cancel()
			var errs []error
			for _, part := range parts { // all are over by now, so that none strikes while another is waited for
				errs = append(errs, part.Await(ctx))
			}
			return errors.Join(errs...)
		},
		Hits: func() int {
			touched := 0
			for _, part := range parts {
				touched += part.Hits()
			}
			return touched
		},
	}
}
