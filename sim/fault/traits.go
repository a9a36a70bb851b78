package fault

import (
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Traits are what is known of a fault before it begins: what it needs, whom it hits, and what it does for certain.
// Those that are not given do not apply.
type Traits struct {
	// Ability is what the backend must be able to do.
	Ability world.Ability
	// Beyond is the field by which it asks for more than others of its kind do.
	Beyond string
	// Place is the cluster without which it cannot begin.
	Place Place
	// Actor whose traffic it hits, if it is that of a single one.
	Actor string
	// Victim is the process that it kills or freezes.
	Victim *Process
	// Awaits says that the victim must run before the fault begins.
	Awaits bool
	// Revives is where what it has killed must run again for it to be healed. A program of a cluster itself returns with
	// the cluster when that was lost. Nobody waits for a control plane, which may have moved.
	Revives Place
	// Silences is the cluster in which nothing answers before the heal.
	Silences string
	// Harm is what it surely does at once.
	Harm Harm
	// Momentary says that it has done its harm once it has begun. Others do harm for as long as they are not healed.
	Momentary bool
}

// Place is a cluster, or the one where an actor runs.
type Place struct {
	// Field of the fault that says so.
	Field          string
	Cluster, Actor string
}

// On a landscape the place is this cluster; empty when it is none.
func (p Place) On(l landscape.Landscape) string {
	if p.Actor != "" {
		return l.HomeOf(p.Actor)
	}
	return p.Cluster
}

// Harm is what a fault surely does at once to whoever is on a cluster, or to the etcd of one shoot.
type Harm struct {
	// Cluster that is lost or frozen; empty when that is none.
	Cluster string
	// Frozen is whether the cluster is not lost, but frozen.
	Frozen bool
	// Shoot whose etcd loses its data; empty when that is none.
	Shoot string
	// Wiped is whether the data is gone for good; else it is there again when the fault has healed.
	Wiped bool
}

// ReachesFrozen says whether a fault does something to what is frozen: a signal does.
func (t Traits) ReachesFrozen() bool {
	return t.Victim != nil || t.Harm.Cluster != "" && !t.Harm.Frozen
}
