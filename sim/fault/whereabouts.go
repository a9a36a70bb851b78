package fault

import "github.com/transplant-sim/transplant/sim/landscape"

// Ground is the cluster without which a fault cannot begin, and the field that says so; empty when it needs none.
func Ground(f Fault, on landscape.Landscape) (member, cluster string) {
	if grounded, is := f.(interface {
		ground(landscape.Landscape) (member, cluster string)
	}); is {
		return grounded.ground(on)
	}
	return "", ""
}

// Speaker is the actor whose traffic feels a fault; empty when it is not that of a single one.
func Speaker(f Fault) string {
	if spoken, is := f.(interface{ speaker() string }); is {
		return spoken.speaker()
	}
	return ""
}

func (c Cluster) ground(landscape.Landscape) (member, cluster string) { return "cluster", c.Cluster }

// ground of an actor is where it runs; a control plane may be on any seed.
func (p Process) ground(on landscape.Landscape) (member, cluster string) {
	if p.Actor != "" {
		return "actor", on.HomeOf(p.Actor)
	}
	return "cluster", p.Cluster
}

func (l Link) speaker() string    { return l.Actor }
func (r Reset) speaker() string   { return r.Actor }
func (o Objects) speaker() string { return o.Actor }
func (c Callers) speaker() string { return c.Actor }
