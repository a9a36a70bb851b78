package chaosmesh

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// networkHarms are the faults of links, in one direction, that an experiment is made of. As with Chaos Mesh, a
// partition and a bandwidth are nothing else, and all other actions do what is given.
func networkHarms(spec *v1alpha1.NetworkChaosSpec, d wire.Direction) ([]link.Fault, error) {
	switch spec.Action {
	case v1alpha1.PartitionAction:
		return []link.Fault{wire.Cut{Direction: d, Refuse: spec.PartitionBehavior == v1alpha1.RejectPartitionBehavior}}, nil
	case v1alpha1.BandwidthAction:
		return bandwidthHarms(spec.Bandwidth, d)
	}
	var all packetHarms
	if s := spec.Delay; s != nil {
		all.delay(*s, d)
	}
	if s := spec.Loss; s != nil {
		all.chance("loss", s.Loss, s.Correlation,
			func(c wire.Chance) link.Fault { return wire.Loss{Direction: d, Chance: c} })
	}
	if s := spec.Corrupt; s != nil { // the receiver drops what is corrupt
		all.chance("corrupt", s.Corrupt, s.Correlation,
			func(c wire.Chance) link.Fault { return wire.Loss{Direction: d, Chance: c} })
	}
	if s := spec.Duplicate; s != nil {
		all.chance("duplicate", s.Duplicate, s.Correlation,
			func(c wire.Chance) link.Fault { return wire.Duplicate{Direction: d, Chance: c} })
	}
	if s := spec.Rate; s != nil { // after what is sent twice, which takes room
		bytes, err := bytesPerSecond(s.Rate)
		all.add(wire.Bandwidth{Direction: d, BytesPerSecond: bytes}, err)
	}
	return all.faults, all.err()
}

// packetHarms are collected, with what is wrong in them.
type packetHarms struct {
	faults []link.Fault
	errs   []error
	never  []string // what happens to no packet
}

// err says what is wrong. What harms nobody is no more than useless, unless there is nothing else.
func (p *packetHarms) err() error {
	if len(p.errs) > 0 || slices.ContainsFunc(p.faults, func(f link.Fault) bool { return !isDuplicate(f) }) {
		return errors.Join(p.errs...)
	}
	for _, name := range p.never {
		p.errs = append(p.errs, fmt.Errorf(`%s "0": it would happen to no packet; must be above 0, such as "25"`, name))
	}
	if len(p.faults) > 0 {
		p.errs = append(p.errs, errors.New("duplicate: alone it harms nobody, because TCP drops what comes twice; add a "+
			"rate, which it uses up, such as rate: {rate: 1mbps}"))
	}
	return errors.Join(p.errs...)
}

func isDuplicate(f link.Fault) bool {
	_, is := f.(wire.Duplicate)
	return is
}

func (p *packetHarms) add(f link.Fault, err error) {
	if err != nil {
		p.errs = append(p.errs, err)
		return
	}
	p.faults = append(p.faults, f)
}

// chance adds what happens to so many percent of the packets, unless that is none.
func (p *packetHarms) chance(name, percent, correlation string, of func(wire.Chance) link.Fault) {
	c, err := chanceOf(name, percent, correlation)
	if err == nil && c.Percent == 0 {
		p.never = append(p.never, name)
		return
	}
	p.add(of(c), err)
}

func (p *packetHarms) delay(s v1alpha1.DelaySpec, d wire.Direction) {
	latency, err := latencyOf(s)
	latency.Direction = d
	p.add(latency, err)
}

func latencyOf(s v1alpha1.DelaySpec) (l wire.Latency, err error) {
	if s.Latency == "" {
		return l, errors.New(`delay needs a latency, such as "1s"`)
	}
	if l.Delay, err = time.ParseDuration(s.Latency); err != nil {
		return l, fmt.Errorf("read the latency: %w", err)
	}
	if s.Jitter != "" {
		if l.Jitter, err = time.ParseDuration(s.Jitter); err != nil {
			return l, fmt.Errorf("read the jitter: %w", err)
		}
	}
	if l.Correlation, err = percentOf("correlation", s.Correlation); err != nil || s.Reorder == nil {
		return l, err
	}
	overtaking, err := chanceOf("reorder", s.Reorder.Reorder, s.Reorder.Correlation)
	if overtaking.Percent > 0 { // else all are delayed
		l.Overtaking, l.Gap = overtaking, s.Reorder.Gap
	}
	return l, err
}

func chanceOf(name, percent, correlation string) (c wire.Chance, err error) {
	if c.Percent, err = percentOf(name, percent); err != nil {
		return c, err
	}
	c.Correlation, err = percentOf("correlation", correlation)
	return c, err
}

// percentOf reads a percentage, which is 0 when it is not given.
func percentOf(name, text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || !(percent >= 0 && percent <= 100) { // not a number is refused, too
		return 0, fmt.Errorf(`%s %q: must be a percentage from 0 to 100, such as "25"`, name, text)
	}
	return percent, nil
}

// bandwidthHarms are a bucket of tokens, and a second one for what bounds its bursts. The queue in front of it is the
// link's own, which loses nothing.
func bandwidthHarms(b *v1alpha1.BandwidthSpec, d wire.Direction) ([]link.Fault, error) {
	if b == nil {
		return nil, nil
	}
	bytes, err := bytesPerSecond(b.Rate)
	if err != nil {
		return nil, err
	}
	harms := []link.Fault{wire.Bandwidth{Direction: d, BytesPerSecond: bytes, Burst: int64(b.Buffer)}}
	if b.Peakrate != nil && *b.Peakrate > 0 {
		peak := wire.Bandwidth{Direction: d, BytesPerSecond: int64(min(*b.Peakrate, 1<<62))}
		if b.Minburst != nil {
			peak.Burst = int64(*b.Minburst)
		}
		harms = append(harms, peak)
	}
	return harms, nil
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
