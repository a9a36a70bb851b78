package fault

import (
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// MayLoseOwner says whether a fault may cost a shoot its owner, or an owner its data: somebody then recovers the shoot
// who did not get it handed over. It is false only where that cannot happen: no seed is taken for lost because of the
// fault, and no etcd has to be restored from its backups.
func (t Traits) MayLoseOwner(on landscape.Landscape) bool {
	switch {
	case t.Ability == world.BreakCloud || t.Ability == world.DamageBackups:
		return false // whether a seed is lost is decided in the garden
	case t.Victim != nil:
		return t.Victim.ownsOrSpeaks(on)
	}
	return t.Actor == "" || speaksForSeed(t.Actor, on)
}

// bystanders are the roles of actors that neither renew the lease of a seed nor read it, and own no shoot.
var bystanders = map[string]bool{"user": true, "nodes": true, "gateway": true, "extensions": true,
	"resource-manager": true}

func speaksForSeed(actor string, on landscape.Landscape) bool { return !bystanders[on.RoleOf(actor)] }

// keepers are the programs of a control plane whose end costs no data: their successors go on from the same etcd.
var keepers = map[string]bool{
	"backup": true, "gardener-resource-manager": true, "kube-apiserver": true, "kube-controller-manager": true,
	"kube-scheduler": true, "machine-controller": true,
}

// ownsOrSpeaks says whether the loss of a process may cost a shoot its owner.
func (p Process) ownsOrSpeaks(on landscape.Landscape) bool {
	switch {
	case p.Actor != "":
		return speaksForSeed(p.Actor, on)
	case p.Shoot != "":
		return !keepers[p.Program]
	}
	return true
}
