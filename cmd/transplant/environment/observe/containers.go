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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
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
	l := landscape.OfSeeds(seeds, extensions...)
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
func (o *Observer) Parts(ctx context.Context, cluster string, pods []corev1.Pod) (world.Parts, error) {
	all := &corev1.PodList{}
	if seed := o.SeedClients[cluster]; seed != nil {
		if err := seed.List(ctx, all); err != nil {
			return world.Parts{}, fmt.Errorf("list the pods of seed %q: %w", cluster, err)
		}
	}
	parts := planeParts(cluster, pods, all.Items)
	parts.All = landscape.OfSeeds(o.Seeds(), o.Environment.Extensions...).Actors()
	running, err := o.Containers(ctx, cluster, func(process.Program) bool { return true })
	if err != nil {
		return world.Parts{}, err
	}
	byPod := map[types.UID]string{}
	for _, c := range running {
		uid, _ := PodOf(c)
		for _, actor := range landscape.OfSeeds(only(o.Seeds(), cluster), o.Environment.Extensions...).ProcessActors() {
			if at, matches := o.ActorProcesses(actor); at == cluster && matches(c) {
				byPod[uid] = actor
			}
		}
	}
	for _, pod := range pods {
		if actor := byPod[pod.UID]; actor != "" && !isPlane(pod) {
			parts.Actors = append(parts.Actors, actor)
		}
	}
	slices.Sort(parts.Actors)
	parts.Actors = slices.Compact(parts.Actors)
	return parts, nil
}

// planeParts are the parts of control planes. API servers serve their shoots and call nobody over links. Those that
// call the garden and the cloud do so over the links of one actor, whatever their shoots. The lists are of two moments:
// a pod is known by its name, which one that takes its place has, too.
func planeParts(cluster string, pods, all []corev1.Pod) (parts world.Parts) {
	actor := "control-planes-" + cluster
	selected := map[types.NamespacedName]bool{}
	for _, pod := range pods {
		selected[client.ObjectKeyFromObject(&pod)] = true
		if isPlane(pod) && pod.Labels[constants.LabelRole] == workload.KubeAPIServer {
			shoot := strings.TrimPrefix(pod.Namespace, environment.TechnicalID(""))
			parts.Targets = append(parts.Targets, switchboard.ShootPrefix+shoot)
		}
		if isPlane(pod) && callsOut(pod) {
			parts.Actors = []string{actor}
		}
	}
	slices.Sort(parts.Targets)
	parts.Targets = slices.Compact(parts.Targets)
	if len(parts.Actors) == 0 {
		return parts
	}
	var others []string
	for _, pod := range all {
		if isPlane(pod) && callsOut(pod) && !isOver(pod) && !selected[client.ObjectKeyFromObject(&pod)] {
			others = append(others, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(others)
	parts.Others = map[string][]string{actor: others}
	return parts
}

// isPlane says whether a pod is part of a shoot's control plane.
func isPlane(pod corev1.Pod) bool {
	return strings.HasPrefix(pod.Namespace, environment.TechnicalID(""))
}

// callsOut says whether a part of a control plane has been given a way to the garden or to the cloud.
func callsOut(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Secret != nil && (v.Secret.SecretName == namespace.KubeconfigGarden ||
			v.Secret.SecretName == namespace.KubeconfigCloud)
	})
}

// isOver says whether a pod calls nobody any more, or is about to end.
func isOver(pod corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// only one of all, if it is there.
func only(all []string, one string) []string {
	if slices.Contains(all, one) {
		return []string{one}
	}
	return nil
}
