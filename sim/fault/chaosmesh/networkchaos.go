package chaosmesh

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// planNetwork: the links from and to the selected pods are harmed. What lies outside of their cluster is named as the
// targets of links are; without a target all links of the pods are meant.
func planNetwork(c *v1alpha1.NetworkChaos) plan {
	spec := &c.Spec
	p := plan{action: string(spec.Action), mode: spec.Mode, needs: world.BreakPodLinks, targets: spec.ExternalTargets,
		duration: spec.Duration}
	if _, known := supportOf("NetworkChaos", p.action); !known {
		p.lackAction(p.action, actionsOf("NetworkChaos"))
		return p
	}
	p.lack("device", "device", spec.Device != "")
	p.lack("targetDevice", "targetDevice", spec.TargetDevice != "")
	p.mesh = networkApplied(spec, len(p.lacks) > 0)
	to, known := map[v1alpha1.Direction]wire.Direction{"": wire.ToServer, v1alpha1.To: wire.ToServer,
		v1alpha1.From: wire.ToClient, v1alpha1.Both: wire.Both}[spec.Direction]
	if !known {
		p.problem = fmt.Errorf("direction %q: must be to, from or both", spec.Direction)
		return p
	}
	p.harms, p.problem = networkHarms(spec, to)
	if len(p.harms) == 0 && p.problem == nil && len(p.lacks) == 0 {
		missing, needs := p.action, fmt.Sprintf("action %q needs it", p.action)
		if spec.Action == v1alpha1.NetemAction {
			missing, needs = "delay", needs+", or a rate, loss, duplicate or corrupt"
		}
		p.mesh, p.lacks = nil, []lack{{"no " + missing, missing, "", needs}}
	}
	p.inject = func(ctx context.Context, w world.World, cluster string) (world.Injection, error) {
		return harmNetwork(ctx, w, cluster, spec, to)
	}
	return p
}

// way is a link in the direction from the selected pods to what they are parted from, or the other way round.
type way struct {
	actor, target string
	direction     wire.Direction
}

func harmNetwork(ctx context.Context, w world.World, cluster string, spec *v1alpha1.NetworkChaosSpec,
	to wire.Direction) (world.Injection, error) {
	pods, err := choose(ctx, w, cluster, spec.PodSelector)
	if err != nil || len(pods) == 0 {
		return nothing(), err
	}
	var beyond []corev1.Pod
	if spec.Target != nil {
		if beyond, err = choose(ctx, w, cluster, *spec.Target); err != nil || len(beyond) == 0 {
			return nothing(), err
		}
	}
	ways, err := waysOf(ctx, w, cluster, pods, beyond, spec.ExternalTargets, to)
	if err != nil {
		return world.Injection{}, err
	}
	var begun []world.Injection
	for _, l := range ways {
		harms, err := networkHarms(spec, l.direction)
		if err != nil {
			return together(begun), err
		}
		one, err := harmLinks(ctx, w, []string{l.actor}, []string{l.target}, harms)
		begun = append(begun, one)
		if err != nil {
			return together(begun), err
		}
	}
	return together(begun), nil
}

// waysOf pods are the links from them, and those to them, on which the direction is the other one. They lead to the
// pods beyond or to what is named; to all when nothing is.
func waysOf(ctx context.Context, w world.World, cluster string, pods, beyond []corev1.Pod, named []string,
	to wire.Direction) ([]way, error) {
	parts, err := w.Parts(ctx, cluster, pods)
	if err != nil {
		return nil, err
	}
	targets, callers := named, world.Parts{}
	switch {
	case len(beyond) > 0:
		if callers, err = w.Parts(ctx, cluster, beyond); err != nil {
			return nil, err
		}
		targets = slices.Concat(named, callers.Targets)
	case len(named) == 0:
		targets, callers.Actors = []string{landscape.Garden, "cloud", "shoots"}, parts.All
		if cluster != landscape.Garden {
			targets = append(targets, cluster)
		}
	}
	there, err := waysBetween(w, parts, targets, to)
	if err != nil {
		return nil, err
	}
	back, err := waysBetween(w, callers, parts.Targets, opposite(to))
	if err != nil {
		return nil, err
	}
	ways := slices.Concat(there, back)
	if len(ways) == 0 {
		return nil, fmt.Errorf("find the links of %d pods of cluster %q: there is none; links lead from actors to API "+
			"servers of clusters and shoots, and to the cloud: select such pods, or name externalTargets", len(pods), cluster)
	}
	return ways, nil
}

// waysBetween actors and targets. Nobody is harmed who shares a link and is not selected.
func waysBetween(w world.World, from world.Parts, targets []string, d wire.Direction) (ways []way, _ error) {
	on := landscape.OfSeeds(w.Seeds())
	for _, actor := range from.Actors {
		others := from.Others[actor]
		for _, target := range targets {
			if len(others) > 0 && slices.Contains(on.TargetsOf(actor), target) {
				return nil, fmt.Errorf("harm the link of %s to %s: these pods share it, and are not selected: %s; select them, "+
					"too, or none of them", actor, target, strings.Join(others, ", "))
			}
			if len(others) == 0 {
				ways = append(ways, way{actor, target, d})
			}
		}
	}
	return ways, nil
}

func opposite(d wire.Direction) wire.Direction {
	switch d {
	case wire.ToServer:
		return wire.ToClient
	case wire.ToClient:
		return wire.ToServer
	}
	return d
}

// harmLinks does every harm to every link of the actors to the targets.
func harmLinks(ctx context.Context, w world.World, actors, targets []string, harms []link.Fault) (world.Injection,
	error) {
	var begun []world.Injection
	for _, actor := range actors {
		for _, target := range targets {
			for _, harm := range harms {
				one, err := w.BreakLink(ctx, actor, target, harm, nil)
				if one.Heal != nil {
					begun = append(begun, one)
				}
				if err != nil {
					return together(begun), err
				}
			}
		}
	}
	return together(begun), nil
}
