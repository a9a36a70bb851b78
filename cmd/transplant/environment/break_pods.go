package environment

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

var (
	_ world.PodBreaker = &World{}
	_ world.PodActors  = &World{}
)

// untilHealed is longer than any run.
const untilHealed = time.Duration(math.MaxInt64)

// BreakPods implements world.PodBreaker.
func (w *World) BreakPods(ctx context.Context, cluster string, pods []types.UID, names []string,
	keep bool) (world.Injection, error) {
	find := func(ctx context.Context) ([]process.Program, error) {
		return w.containers(ctx, cluster, func(c process.Program) bool {
			pod, name := podOf(c)
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

// ownFile is a file that every container has of its own, whose place on the host names pod and container.
var ownFile = regexp.MustCompile(`/pods/([0-9a-f-]{36})/containers/([^/ ]+)/[^/ ]+ /dev/termination-log `)

// podOf is the pod and the name of a container; empty when it has ended meanwhile.
func podOf(c process.Program) (pod types.UID, name string) {
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", c.PID))
	if err != nil {
		return "", ""
	}
	found := ownFile.FindSubmatch(mounts)
	if found == nil {
		return "", ""
	}
	return types.UID(found[1]), string(found[2])
}

// Parts implements world.PodActors: control planes are known by their namespaces, other actors by what they run.
func (w *World) Parts(ctx context.Context, cluster string, pods []corev1.Pod) (actors, targets []string, err error) {
	running, err := w.containers(ctx, cluster, func(process.Program) bool { return true })
	if err != nil {
		return nil, nil, err
	}
	byPod := map[types.UID]string{}
	for _, c := range running {
		uid, _ := podOf(c)
		for _, actor := range (landscape.Landscape{Seeds: w.seedsOf(cluster),
			Extensions: w.env.Extensions}).ProcessActors() {
			if at, matches := w.actorProcesses(actor); at == cluster && matches(c) {
				byPod[uid] = actor
			}
		}
	}
	for _, pod := range pods {
		shoot, isShoot := strings.CutPrefix(pod.Namespace, technicalID(""))
		switch {
		case isShoot && pod.Labels[constants.LabelRole] == controlplane.DeploymentKubeAPIServer:
			targets = append(targets, shootTarget+shoot)
			actors = append(actors, "control-planes-"+cluster)
		case isShoot:
			actors = append(actors, "control-planes-"+cluster)
		case byPod[pod.UID] != "":
			actors = append(actors, byPod[pod.UID])
		}
	}
	slices.Sort(actors)
	slices.Sort(targets)
	return slices.Compact(actors), slices.Compact(targets), nil
}

// seedsOf is the seed that a cluster is, if it is one.
func (w *World) seedsOf(cluster string) []landscape.Seed {
	if slices.Contains(w.Seeds(), cluster) {
		return []landscape.Seed{{Name: cluster}}
	}
	return nil
}
