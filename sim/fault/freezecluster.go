package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// FreezeCluster holds every process of a cluster with SIGSTOP: connections stay open and nothing answers. The heal lets
// them go on in the middle of what they were doing.
type FreezeCluster struct {
	Cluster `json:",inline"`
}

var _ Fault = &FreezeCluster{}

// Name is "freezeCluster(cluster)".
func (f *FreezeCluster) Name() string { return f.name("freezeCluster") }

// Traits are a cluster that stands still.
func (f *FreezeCluster) Traits() Traits {
	cluster := f.Cluster.Cluster
	return Traits{Ability: world.BreakClusters, Place: f.place(), Silences: cluster,
		Harm: Harm{Cluster: cluster, Frozen: true}}
}

// Check finds unknown clusters.
func (f *FreezeCluster) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return f.check(path, on)
}

// Inject freezes the cluster.
func (f *FreezeCluster) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	injection, err := w.FreezeCluster(ctx, f.Cluster.Cluster)
	if err == nil {
		err = f.checkSilent(ctx, w)
	}
	return injection, err
}
