package environment

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// owners finds out whose pods are by their specs, on every landscape alike.
type owners struct{}

var (
	_ world.PodOwners = owners{}
	_ world.PodOwners = &World{}
)

// OwnerOf implements world.PodOwners.
func (*World) OwnerOf(cluster string, pod *corev1.Pod) (world.PodOwner, bool) {
	return owners{}.OwnerOf(cluster, pod)
}

// OwnerOf implements world.PodOwners: control planes are known by their namespaces, third-party extensions by a
// variable that names them, and the landscape's own actors by the subcommand that they run.
func (owners) OwnerOf(cluster string, pod *corev1.Pod) (world.PodOwner, bool) {
	if shoot, is := strings.CutPrefix(pod.Namespace, technicalID("")); is {
		return world.PodOwner{Actor: "control-planes-" + cluster, Shoot: shoot}, true
	}
	for _, c := range pod.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == landscape.ActorVariable {
				return world.PodOwner{Actor: e.Value, Extension: strings.TrimSuffix(e.Value, "-"+cluster)}, true
			}
		}
		if c.Image == image && len(c.Command) > 1 {
			if cluster == landscape.Garden {
				return world.PodOwner{Actor: c.Command[1]}, true
			}
			return world.PodOwner{Actor: c.Command[1] + "-" + cluster}, true
		}
	}
	return world.PodOwner{}, false
}
