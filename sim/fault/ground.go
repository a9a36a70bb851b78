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

// Speaker is the actor whose traffic a fault hits; empty when it is not that of a single one.
func Speaker(f Fault) string {
	if spoken, is := f.(interface{ speaker() string }); is {
		return spoken.speaker()
	}
	return ""
}

// Revival is the cluster where what a fault has killed must run again for it to be healed; empty when nobody waits for
// that, as for a control plane, which may have moved. A program of a cluster itself returns with it when the cluster
// was lost.
func Revival(f Fault, on landscape.Landscape) (cluster string, returns bool) {
	var victim Process
	switch f := f.(type) {
	case *Kill:
		victim = f.Process
	case *Crash:
		victim = f.victim()
	}
	_, cluster = victim.ground(on)
	return cluster, victim.Cluster != ""
}

// Beyond is the field by which a fault asks for more than others of its kind do; empty when it does not.
func Beyond(f Fault) string {
	if asking, is := f.(interface{ beyond() string }); is {
		return asking.beyond()
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

// ground of a crash is that of a victim other than the actor that writes; if the cluster of that actor is down, no
// request comes.
func (c *Crash) ground(on landscape.Landscape) (member, cluster string) {
	if c.Victim != nil {
		_, cluster = c.Victim.ground(on)
	}
	return "victim", cluster
}

func (l Link) speaker() string    { return l.Actor }
func (r Reset) speaker() string   { return r.Actor }
func (o Objects) speaker() string { return o.Actor }
func (c Callers) speaker() string { return c.Actor }
