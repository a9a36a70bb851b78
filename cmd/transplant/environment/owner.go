package environment

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Owners finds out whose pods are by their specs, on every landscape alike.
type Owners struct{}

var _ world.PodOwners = Owners{}

// OwnerOf implements world.PodOwners: control planes are known by their namespaces, third-party extensions by a
// variable that names them, and the landscape's own actors by the subcommand that they run.
func (Owners) OwnerOf(cluster string, pod *corev1.Pod) (world.PodOwner, bool) {
	if shoot, is := strings.CutPrefix(pod.Namespace, TechnicalID("")); is {
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

// IsActor says whether a pod is one of an actor. It leaves out what a backend brings along, such as a cluster's DNS: no
// scenario kills it, and it takes its time to end.
func IsActor(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool {
		return c.Image == image || isThirdParty(c)
	})
}

// isThirdParty says whether a container is one of a third-party extension.
func isThirdParty(c corev1.Container) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == landscape.ActorVariable })
}
