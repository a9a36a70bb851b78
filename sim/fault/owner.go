package fault

import "github.com/transplant-sim/transplant/sim/landscape"

// MayLoseOwner says whether a fault may cost a shoot its owner, or an owner its data: somebody then recovers the shoot
// who did not get it handed over. It is false only where that cannot happen: no seed is taken for lost because of the
// fault, and no etcd has to be restored from its backups.
func MayLoseOwner(f Fault, on landscape.Landscape) bool {
	switch f := f.(type) {
	case *CloudError, *CloudQuota, *CloudThrottle, *CloudUnreachable, *SlowCloud,
		*BucketUnreachable, *SlowBucket, *DamageBackup:
		return false // whether a seed is lost is decided in the garden
	case *Kill:
		return f.Process.ownsOrSpeaks(on)
	case *Freeze:
		return f.Process.ownsOrSpeaks(on)
	case *Crash:
		return f.victim().ownsOrSpeaks(on)
	}
	actor := Speaker(f)
	return actor == "" || speaksForSeed(actor, on)
}

// bystanders are the roles of actors that neither renew the lease of a seed nor read it, and own no shoot.
var bystanders = map[string]bool{"user": true, "nodes": true, "gateway": true, "extensions": true}

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

// Harm is what a fault surely does at once to whoever is on a cluster, or to the etcd of one shoot.
type Harm struct {
	// Cluster that is lost or frozen; empty when that is none.
	Cluster string
	// Shoot whose etcd loses its data; empty when that is none.
	Shoot string
	// Wiped is whether the data is gone for good; else it is there again when the fault has healed.
	Wiped bool
}

// HarmOf a fault, as far as that is sure.
func HarmOf(f Fault) (h Harm, sure bool) {
	switch f := f.(type) {
	case *LoseCluster:
		return Harm{Cluster: f.Cluster.Cluster, Wiped: f.Wipe}, true
	case *FreezeCluster:
		return Harm{Cluster: f.Cluster.Cluster}, true
	case *WipeEtcd:
		return Harm{Shoot: f.Shoot, Wiped: true}, true
	}
	return Harm{}, false
}

// Lasting says whether a fault does harm for as long as it is not healed. Others have done theirs once they have begun.
func Lasting(f Fault) bool {
	switch f.(type) {
	case *LoseCluster, *Kill, *Crash, *WipeEtcd, *LoseObject, *GrowObject, *DamageBackup, *Chaos:
		return false
	}
	return true
}
