package chaosmesh

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// planNetwork: the links of the actors in the selected pods are harmed. What lies outside of their cluster is named as
// the targets of links are; without a target all links of the actors are meant. The sizes of buffers are the links'
// own.
func planNetwork(c *v1alpha1.NetworkChaos) plan {
	spec := &c.Spec
	p := plan{action: string(spec.Action), mode: spec.Mode, needs: world.BreakPodLinks, targets: spec.ExternalTargets,
		duration: spec.Duration, mesh: networkApplied(spec)}
	p.lack("remoteCluster", "remoteCluster", spec.RemoteCluster != "")
	p.lack("device", "device", spec.Device != "")
	p.lack("targetDevice", "targetDevice", spec.TargetDevice != "")
	p.lack("target pods", "target", spec.Target != nil)
	p.lack("loss", "loss", spec.Loss != nil)
	// else it is the action
	p.lack("duplicate", "duplicate", spec.Duplicate != nil && spec.Action != v1alpha1.DuplicateAction)
	p.lack("corrupt", "corrupt", spec.Corrupt != nil)
	if d := spec.Delay; d != nil {
		p.lack("reorder", "delay.reorder", d.Reorder != nil)
		p.lack("correlation", "delay.correlation", d.Correlation != "" && d.Correlation != "0")
	}
	if b := spec.Bandwidth; b != nil {
		p.lack("peakrate", "bandwidth.peakrate", b.Peakrate != nil)
		p.lack("minburst", "bandwidth.minburst", b.Minburst != nil)
	}
	p.harms, p.problem = networkHarms(spec)
	p.lackNetworkAction(spec.Action)
	p.inject = func(ctx context.Context, w world.World, cluster string) (world.Injection, error) {
		return harmPods(ctx, w, cluster, spec, p.harms)
	}
	return p
}

// lackNetworkAction notes an action that there is not, and one of which is not said what it does.
func (p *plan) lackNetworkAction(action v1alpha1.NetworkChaosAction) {
	switch action {
	case v1alpha1.PartitionAction, v1alpha1.DelayAction, v1alpha1.BandwidthAction, v1alpha1.LossAction,
		v1alpha1.CorruptAction, v1alpha1.NetemAction:
	default:
		p.lackAction(string(action), "partition, delay, bandwidth or netem, or where there is Chaos Mesh loss or corrupt")
		return
	}
	if len(p.harms) > 0 || p.problem != nil || len(p.lacks) > 0 {
		return
	}
	missing, needs := string(action), fmt.Sprintf("action %q needs it", action)
	if action == v1alpha1.NetemAction {
		missing, needs = "delay", needs+", or a rate"
	}
	p.lacks = []lack{{"no " + missing, missing, "", needs}}
}

// networkHarms are the faults of links that an experiment is made of.
func networkHarms(spec *v1alpha1.NetworkChaosSpec) (harms []link.Fault, err error) {
	direction, known := map[v1alpha1.Direction]wire.Direction{"": wire.ToServer, v1alpha1.To: wire.ToServer,
		v1alpha1.From: wire.ToClient, v1alpha1.Both: wire.Both}[spec.Direction]
	if !known {
		return nil, fmt.Errorf("direction %q: must be to, from or both", spec.Direction)
	}
	if spec.Action == v1alpha1.PartitionAction {
		return []link.Fault{wire.Cut{Direction: direction,
			Refuse: spec.PartitionBehavior == v1alpha1.RejectPartitionBehavior}}, nil
	}
	if d := spec.Delay; d != nil {
		delay, jitter, err := delayOf(d)
		if err != nil {
			return nil, err
		}
		harms = append(harms, wire.Latency{Direction: direction, Delay: delay, Jitter: jitter})
	}
	var rates []string
	if b := spec.Bandwidth; b != nil {
		rates = append(rates, b.Rate)
	}
	if r := spec.Rate; r != nil {
		rates = append(rates, r.Rate)
	}
	for _, rate := range rates {
		bytes, err := bytesPerSecond(rate)
		if err != nil {
			return nil, err
		}
		harms = append(harms, wire.Bandwidth{Direction: direction, BytesPerSecond: bytes})
	}
	return harms, nil
}

func delayOf(d *v1alpha1.DelaySpec) (delay, jitter time.Duration, err error) {
	if d.Latency == "" {
		return 0, 0, errors.New(`delay needs a latency, such as "1s"`)
	}
	if delay, err = time.ParseDuration(d.Latency); err != nil {
		return 0, 0, fmt.Errorf("read the latency: %w", err)
	}
	if d.Jitter != "" {
		if jitter, err = time.ParseDuration(d.Jitter); err != nil {
			return 0, 0, fmt.Errorf("read the jitter: %w", err)
		}
	}
	return delay, jitter, nil
}

// bytesPerSecond reads a rate as the traffic control of Linux does: mbit are bits, mbps are bytes.
func bytesPerSecond(rate string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(rate))
	for _, unit := range []struct {
		name  string
		bytes float64
	}{
		{"tbit", 125e9}, {"gbit", 125e6}, {"mbit", 125e3}, {"kbit", 125}, {"bit", 0.125},
		{"tbps", 1e12}, {"gbps", 1e9}, {"mbps", 1e6}, {"kbps", 1e3}, {"bps", 1},
	} {
		number, has := strings.CutSuffix(text, unit.name)
		if !has {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 32)
		if err != nil {
			return 0, fmt.Errorf("read the rate %q: %w", rate, err)
		}
		if n == 0 {
			return 0, fmt.Errorf("read the rate %q: must be above 0; nothing passes with action partition", rate)
		}
		return max(1, int64(float64(n)*unit.bytes)), nil
	}
	return 0, fmt.Errorf("read the rate %q: it has no unit such as mbit or mbps", rate)
}

func harmPods(ctx context.Context, w world.World, cluster string, spec *v1alpha1.NetworkChaosSpec,
	harms []link.Fault) (world.Injection, error) {
	pods, err := choose(ctx, w, cluster, spec.PodSelector)
	if err != nil {
		return world.Injection{}, err
	}
	actors, _, err := w.Parts(ctx, cluster, pods)
	if err != nil {
		return world.Injection{}, err
	}
	if len(actors) == 0 {
		return world.Injection{}, fmt.Errorf("find the actors in %d pods of cluster %q: none of them has a link", len(pods),
			cluster)
	}
	targets := spec.ExternalTargets
	if len(targets) == 0 {
		targets = []string{landscape.Garden, "cloud", "shoots"}
		if cluster != landscape.Garden {
			targets = append(targets, cluster)
		}
	}
	return harmLinks(ctx, w, actors, targets, harms)
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
