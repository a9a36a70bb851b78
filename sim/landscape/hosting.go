package landscape

import (
	"fmt"
	"slices"
)

// smallestRing is that of which none has the control planes of two others that host each other.
const smallestRing = 3

// Ring is a landscape with a ring of seeds a, b, c, …, each of which hosts the next, and the last one the first; and
// with a seed "first" outside, which a ring needs (docs/ring.md).
func Ring(members int) (Landscape, error) {
	if members < smallestRing {
		return Landscape{}, fmt.Errorf("make a ring of %d seeds: it needs %d or more, for two would host each other, and "+
			"nobody could restore the one if the other is lost", members, smallestRing)
	}
	l := Landscape{Seeds: []Seed{{Name: "first"}}, Settings: Settings{SecondSign: true}}
	name := func(member int) string { return string(rune('a' + (member+members)%members)) }
	for member := range members {
		l.Seeds = append(l.Seeds, Seed{Name: name(member), HostedBy: name(member - 1)})
	}
	return l, nil
}

// Hosted is a seed that is a shoot on another seed.
type Hosted struct {
	// Name of the seed, and of the shoot.
	Name string
	// Born is the seed on which the shoot is created, Host the one that has it when the landscape is ready. They differ
	// for one member of each ring: a ring has no beginning, and is closed by moving its first member.
	Born, Host string
	// Shoot as it is on its host. Its workers are the nodes of the seed; without any the node belongs to the landscape.
	Shoot Shoot
}

// HostedSeeds are the seeds that are shoots, in the order in which they can be made. Seeds whose host is never there
// are left out.
func (l Landscape) HostedSeeds() []Hosted {
	hosts := map[string]string{}
	var there []string
	for _, seed := range l.Seeds {
		if seed.HostedBy == "" {
			there = append(there, seed.Name)
		} else {
			hosts[seed.Name] = seed.HostedBy
		}
	}
	if len(there) == 0 {
		return nil
	}
	first := there[0]
	var all []Hosted
	add := func(ready func(seed string) bool, born func(seed string) string) bool {
		for _, seed := range l.Seeds {
			if host, hosted := hosts[seed.Name]; hosted && !slices.Contains(there, seed.Name) && ready(seed.Name) {
				all = append(all, Hosted{Name: seed.Name, Born: born(seed.Name), Host: host, Shoot: l.hostedShoot(seed)})
				there = append(there, seed.Name)
				return true
			}
		}
		return false
	}
	onHost := func(seed string) string { return hosts[seed] }
	for add(func(seed string) bool { return slices.Contains(there, hosts[seed]) }, onHost) ||
		add(func(seed string) bool { return len(l.Circle(seed)) > 0 }, func(string) string { return first }) {
	}
	return all
}

// Circle is the way from a seed along the hosts back to it, the seed itself first; nil if it does not lead back.
func (l Landscape) Circle(seed string) []string {
	way := []string{seed}
	for at := l.HostOf(seed); at != seed; at = l.HostOf(at) {
		if at == "" || slices.Contains(way, at) {
			return nil
		}
		way = append(way, at)
	}
	return way
}

// HostOf a seed is the seed that has its control plane; empty if none has.
func (l Landscape) HostOf(seed string) string {
	for _, s := range l.Seeds {
		if s.Name == seed {
			return s.HostedBy
		}
	}
	return ""
}

// IsHosted says whether a seed, or a shoot, is one that is both.
func (l Landscape) IsHosted(name string) bool { return l.HostOf(name) != "" }

// OnMachines says whether the nodes of a seed are machines of its shoot.
func (l Landscape) OnMachines(seed string) bool {
	shoot, there := l.Shoot(seed)
	return there && l.IsHosted(seed) && shoot.Workers > 0
}

// AddHosted adds the shoots that are seeds, except those that are there.
func (l *Landscape) AddHosted() {
	for _, hosted := range l.HostedSeeds() {
		if _, there := l.Shoot(hosted.Name); !there {
			l.Shoots = append(l.Shoots, hosted.Shoot)
		}
	}
}

// hostedShoot is the shoot of a seed, which need not be named.
func (l Landscape) hostedShoot(seed Seed) Shoot {
	if given, there := l.Shoot(seed.Name); there {
		return given
	}
	return Shoot{Name: seed.Name, Seed: seed.HostedBy, Purpose: Infrastructure}
}
