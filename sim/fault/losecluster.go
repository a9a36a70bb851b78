package fault

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// LoseCluster kills everything of a cluster at once, as a fire does. The heal brings it back.
type LoseCluster struct {
	Cluster `json:",inline"`
	// Wipe the disks too: a seed returns empty, built anew under the same name. The garden returns as its newest backup
	// has it, if it is backed up. Of a seed that is a shoot these are the disks of its node, with the volumes of the
	// pods: what its API server knows is on its host, and volumes of the cloud are on no machine.
	Wipe bool `json:"wipe,omitempty"`
}

var _ Fault = &LoseCluster{}

// Name is "loseCluster(cluster)".
func (l *LoseCluster) Name() string { return l.name("loseCluster") }

// Traits are the loss of a cluster.
func (l *LoseCluster) Traits() Traits {
	cluster := l.Cluster.Cluster
	return Traits{Ability: world.BreakClusters, Place: l.place(), Silences: cluster,
		Harm: Harm{Cluster: cluster, Wiped: l.Wipe}, Momentary: true}
}

// Check finds unknown clusters, and a garden that is to be wiped.
func (l *LoseCluster) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := l.check(path, on)
	if l.Wipe && l.Cluster.Cluster == landscape.Garden && !on.Garden.Backup {
		remedy := "give the landscape garden: {backup: true}, wipe a seed, or leave it out"
		if len(on.Garden.Members) > 0 { // which has no backup
			remedy = "leave it out, or give the landscape garden: {backup: true} instead of members"
		}
		errs = append(errs, field.Invalid(path.Child("wipe"), true, "nothing can bring a wiped garden back that is not "+
			"backed up: "+remedy))
	}
	if l.Wipe && slices.Contains(on.Garden.Members, l.Cluster.Cluster) {
		errs = append(errs, field.Invalid(path.Child("wipe"), true, fmt.Sprintf("the member of the garden's etcd on seed %q "+
			"would be wiped, too, and nothing adds another: leave it out", l.Cluster.Cluster)))
	}
	return errs
}

// Inject loses the cluster.
func (l *LoseCluster) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	injection, err := w.LoseCluster(ctx, l.Cluster.Cluster, l.Wipe)
	if err == nil {
		err = l.checkSilent(ctx, w)
	}
	return injection, err
}
