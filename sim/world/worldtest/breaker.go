package worldtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Able implements world.Breaker: it can all.
func (*World) Able(world.Ability) error { return nil }

// BreakLink implements world.Breaker: the fault has one hit, and is only counted.
func (w *World) BreakLink(context.Context, string, string, link.Fault, requests.Hook) (world.Injection, error) {
	return w.faults.begin(1), nil
}

// AwaitProcess implements world.Breaker: everything runs.
func (w *World) AwaitProcess(context.Context, world.Process) error { return nil }

// BreakProcess implements world.Breaker: a frozen process has no hits here.
func (w *World) BreakProcess(_ context.Context, _ world.Process, harm world.Harm) (world.Injection, error) {
	if harm == world.Freeze {
		return w.faults.begin(0), nil
	}
	return w.faults.begin(1), nil
}

// LoseCluster implements world.Breaker: nothing of the cluster answers until the heal. Disks are always kept.
func (w *World) LoseCluster(_ context.Context, cluster string, _ bool) (world.Injection, error) {
	return silence(w, cluster)
}

// FreezeCluster implements world.Breaker, as LoseCluster does.
func (w *World) FreezeCluster(_ context.Context, cluster string) (world.Injection, error) {
	return silence(w, cluster)
}

// KillFor implements world.Breaker, and only counts.
func (w *World) KillFor(context.Context, world.Process, time.Duration) (world.Injection, error) {
	return w.faults.begin(1), nil
}

// WipeEtcd implements world.Breaker, and only counts.
func (w *World) WipeEtcd(context.Context, string) (world.Injection, error) {
	return w.faults.begin(1), nil
}

// BreakPods implements world.Breaker, and only counts.
func (w *World) BreakPods(context.Context, string, []types.UID, []string, bool) (world.Injection, error) {
	return w.faults.begin(1), nil
}

// Parts implements world.Breaker: every pod is the gardenlet of its cluster, and serves the garden.
func (w *World) Parts(_ context.Context, cluster string, pods []corev1.Pod) (world.Parts, error) {
	if len(pods) == 0 {
		return world.Parts{}, nil
	}
	return world.Parts{Actors: []string{"gardenlet-" + cluster}, Targets: []string{landscape.Garden},
		All: landscape.OfSeeds(w.order).Actors()}, nil
}

// DialFromPod implements world.Breaker: everybody answers.
func (*World) DialFromPod(context.Context, string, types.UID, string) (time.Duration, error) {
	return 0, nil
}

// BreakCloud implements world.Breaker: the fault has one hit, and is only counted.
func (w *World) BreakCloud(context.Context, cloud.Fault) (world.Injection, error) {
	return w.faults.begin(1), nil
}

// DamageBackup implements world.Breaker, as BreakCloud does.
func (w *World) DamageBackup(context.Context, string, world.Backup, bool) (world.Injection, error) {
	return w.faults.begin(1), nil
}

func silence(w *World, cluster string) (world.Injection, error) {
	server := w.seeds[cluster]
	if cluster == landscape.Garden {
		server = w.garden
	}
	if server == nil {
		return world.Injection{}, fmt.Errorf("there is no cluster %q", cluster)
	}
	server.setDown(true)
	quiet := setPlanesDown(w, cluster, true)
	injection := w.faults.begin(1 + quiet)
	heal := injection.Heal
	injection.Heal = func(ctx context.Context) error {
		server.setDown(false)
		setPlanesDown(w, cluster, false)
		return heal(ctx)
	}
	return injection, nil
}

// setPlanesDown silences, or wakes, the control planes that are on a seed now, and says how many.
func setPlanesDown(w *World, seed string, down bool) (changed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for shoot, planes := range w.planes {
		if newest := planes[len(planes)-1]; newest.seed == seed {
			newest.server.setDown(down)
			w.names[shoot].setDown(down)
			changed++
		}
	}
	return changed
}

// injections counts faults and heals.
type injections struct {
	mu            sync.Mutex
	begun, healed int
}

func (i *injections) begin(hits int) world.Injection {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.begun++
	return world.Injection{
		Heal: func(context.Context) error {
			i.mu.Lock()
			defer i.mu.Unlock()
			i.healed++
			return nil
		},
		Hits: func() int { return hits },
	}
}

// Faults are how many faults were injected, and how many heals were called.
func (w *World) Faults() (injected, healed int) {
	w.faults.mu.Lock()
	defer w.faults.mu.Unlock()
	return w.faults.begun, w.faults.healed
}
