package observe

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Cluster is a cluster with what belongs to it.
type Cluster interface {
	clusters.Cluster
	clusters.Stopper
	clusters.Freezer
	// Containers lists what runs in the pods of the cluster now.
	Containers(context.Context) ([]process.Program, error)
	// Volumes are the names of the folders that hold the volumes of its pods.
	Volumes(context.Context) ([]string, error)
}

// podKeeper is a cluster whose folders of pods can be seen. A kubelet's are its own business.
type podKeeper interface {
	// PodFolders are the names of the folders of its pods: the UIDs of the pods.
	PodFolders(context.Context) ([]string, error)
}

var (
	_ Cluster   = &embedded.Cluster{}
	_ Cluster   = &kind.Cluster{}
	_ podKeeper = &embedded.Cluster{}
)

// Cluster finds one that can be harmed, and whose processes can be seen.
func (o *Observer) Cluster(name string) (Cluster, error) {
	found, err := o.Landscape.Cluster(name)
	if err != nil {
		return nil, err
	}
	cluster, can := found.(Cluster)
	if !can {
		return nil, fmt.Errorf("find the cluster %q: its backend harms none", name)
	}
	return cluster, nil
}

// Containers are the processes in the pods of a cluster that match.
func (o *Observer) Containers(ctx context.Context, cluster string, match func(process.Program) bool) ([]process.Program,
	error) {
	c, err := o.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	all, err := c.Containers(ctx)
	return slices.DeleteFunc(all, func(c process.Program) bool { return !match(c) }), err
}

// ActorProcesses says where an actor runs, and which containers there it is.
func (o *Observer) ActorProcesses(actor string) (cluster string, matches func(process.Program) bool) {
	cluster, program, isExtension := programOf(actor, o.Seeds(), o.Environment.Extensions)
	if isExtension {
		return cluster, func(c process.Program) bool { return c.Env[landscape.ActorVariable] == actor }
	}
	return cluster, func(c process.Program) bool { return Runs(c, program) }
}

// programOf an actor: gardenlet-a is "gardenlet" on the seed a. A third-party extension is known by the actor's name
// instead. The cluster is empty for those that are on none.
func programOf(actor string, seeds []string, extensions []landscape.Extension) (cluster, program string,
	isExtension bool) {
	l := landscape.Landscape{Extensions: extensions}
	for _, seed := range seeds {
		l.Seeds = append(l.Seeds, landscape.Seed{Name: seed})
	}
	cluster, program = l.HomeOf(actor), l.RoleOf(actor)
	return cluster, program, slices.ContainsFunc(extensions, func(e landscape.Extension) bool {
		return e.ActorOn(cluster) == actor
	})
}

// Runs says whether the container runs a program, by its own name or as a subcommand of transplant. The name of a
// third-party extension's program says nothing.
func Runs(c process.Program, program string) bool {
	if c.Env[landscape.ActorVariable] != "" {
		return false
	}
	name := c.Args[0][strings.LastIndex(c.Args[0], "/")+1:]
	return name == program || (name == "transplant" && len(c.Args) > 1 && c.Args[1] == program)
}

// ownFile is a file that every container has of its own, whose place on the host names pod and container.
var ownFile = regexp.MustCompile(`/pods/([0-9a-f-]{36})/containers/([^/ ]+)/[^/ ]+ /dev/termination-log `)

// PodOf is the pod and the name of a container; empty when it has ended meanwhile.
func PodOf(c process.Program) (pod types.UID, name string) {
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

// Parts implements world.Breaker: control planes are known by their namespaces, other actors by what they run.
func (o *Observer) Parts(ctx context.Context, cluster string, pods []corev1.Pod) (actors, targets []string, err error) {
	running, err := o.Containers(ctx, cluster, func(process.Program) bool { return true })
	if err != nil {
		return nil, nil, err
	}
	byPod := map[types.UID]string{}
	for _, c := range running {
		uid, _ := PodOf(c)
		for _, actor := range (landscape.Landscape{Seeds: onlySeed(o.Seeds(), cluster),
			Extensions: o.Environment.Extensions}).ProcessActors() {
			if at, matches := o.ActorProcesses(actor); at == cluster && matches(c) {
				byPod[uid] = actor
			}
		}
	}
	for _, pod := range pods {
		shoot, isShoot := strings.CutPrefix(pod.Namespace, environment.TechnicalID(""))
		switch {
		case isShoot && pod.Labels[constants.LabelRole] == workload.KubeAPIServer:
			targets = append(targets, switchboard.ShootPrefix+shoot)
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

// onlySeed is the seed that a cluster is, if it is one.
func onlySeed(seeds []string, cluster string) []landscape.Seed {
	if slices.Contains(seeds, cluster) {
		return []landscape.Seed{{Name: cluster}}
	}
	return nil
}
