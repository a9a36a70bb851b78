package fault

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Cluster names a cluster that is harmed as a whole.
type Cluster struct {
	// Cluster that is harmed: garden, or a seed.
	Cluster string `json:"cluster"`
}

func (c Cluster) name(harm string) string { return fmt.Sprintf("%s(%s)", harm, c.Cluster) }

func (c Cluster) check(path *field.Path, on landscape.Landscape) field.ErrorList {
	if known := on.Clusters(); !slices.Contains(known, c.Cluster) {
		return field.ErrorList{field.NotSupported(path.Child("cluster"), c.Cluster, known)}
	}
	return nil
}

func (c Cluster) breaker(harm string, w world.World) (world.ClusterBreaker, error) {
	if breaker, can := w.(world.ClusterBreaker); can {
		return breaker, nil
	}
	return nil, cannot(c.name(harm), world.BreakClusters)
}
