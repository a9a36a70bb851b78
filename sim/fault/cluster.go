package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Cluster names a cluster that is harmed as a whole.
type Cluster struct {
	// Cluster that is harmed: garden, or a seed.
	Cluster string `json:"cluster"`
}

func (c Cluster) place() Place { return Place{Field: "cluster", Cluster: c.Cluster} }

func (c Cluster) name(harm string) string { return fmt.Sprintf("%s(%s)", harm, c.Cluster) }

func (c Cluster) check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return choice.Check(path.Child("cluster"), c.Cluster, on.Clusters())
}

// checkSilent makes sure that a cluster that was harmed as a whole does not answer any more.
func (c Cluster) checkSilent(ctx context.Context, w world.World) error {
	if hosting, can := w.(world.Hosting); can && !hosting.OwnsAPIServer(c.Cluster) {
		return nil // whoever answers is elsewhere
	}
	config, err := w.Connect(c.Cluster)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("make the HTTP client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/version", nil)
	if err != nil {
		return fmt.Errorf("ask the cluster %q: %w", c.Cluster, err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil // as it should be
	}
	return errors.Join(fmt.Errorf("the cluster %q still answers", c.Cluster), answer.Body.Close())
}

// silence is how long a cluster that is lost is given to answer all the same.
const silence = 500 * time.Millisecond
