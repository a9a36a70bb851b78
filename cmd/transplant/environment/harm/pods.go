package harm

import (
	"context"
	"fmt"
	"math"
	"slices"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/observe"
	"github.com/transplant-sim/transplant/sim/world"
)

// untilHealed is longer than any run.
const untilHealed = time.Duration(math.MaxInt64)

// BreakPods implements world.Breaker.
func (i *Injector) BreakPods(ctx context.Context, cluster string, pods []types.UID, names []string,
	keep bool) (world.Injection, error) {
	find := func(ctx context.Context) ([]process.Program, error) {
		return i.on.Containers(ctx, cluster, func(c process.Program) bool {
			pod, name := observe.PodOf(c)
			return slices.Contains(pods, pod) && (len(names) == 0 || slices.Contains(names, name))
		})
	}
	if keep {
		d, err := keepDown(ctx, finders{find}, untilHealed)
		if err != nil {
			return world.Injection{}, fmt.Errorf("keep pods of cluster %q down: %w", cluster, err)
		}
		return world.Injection{Heal: func(context.Context) error {
			return d.end()
		}, Hits: func() int { return len(d.victims) }}, nil
	}
	victims, err := find(ctx)
	if err != nil {
		return world.Injection{}, err
	}
	if len(victims) == 0 {
		return world.Injection{}, fmt.Errorf("kill containers %v in pods of cluster %q: none runs", names, cluster)
	}
	heal := func(context.Context) error { return nil } // whoever supervises them starts them again
	return world.Injection{Heal: heal, Hits: func() int { return len(victims) }}, signalAll(victims, syscall.SIGKILL)
}
