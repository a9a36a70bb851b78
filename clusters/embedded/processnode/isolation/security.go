package isolation

import (
	"cmp"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
)

// Apply applies the security contexts of the pod and the container to what the container is started with. The pod has
// passed Check.
func Apply(spec *container.Spec, pod *corev1.Pod, c *corev1.Container) error {
	podContext, own := pod.Spec.SecurityContext, c.SecurityContext
	podContext = cmp.Or(podContext, &corev1.PodSecurityContext{})
	own = cmp.Or(own, &corev1.SecurityContext{})
	spec.User.UID = uint32(first(own.RunAsUser, podContext.RunAsUser))
	spec.User.GID = uint32(first(own.RunAsGroup, podContext.RunAsGroup))
	if podContext.FSGroup != nil {
		spec.User.Groups = append(spec.User.Groups, uint32(*podContext.FSGroup))
	}
	for _, group := range podContext.SupplementalGroups {
		spec.User.Groups = append(spec.User.Groups, uint32(group))
	}
	if spec.User.UID == 0 && first(own.RunAsNonRoot, podContext.RunAsNonRoot) {
		if own.RunAsUser == nil && podContext.RunAsUser == nil {
			return errors.New("container has runAsNonRoot and image will run as root")
		}
		return errors.New("container's runAsUser breaks non-root policy")
	}
	spec.ReadOnlyRoot = first(own.ReadOnlyRootFilesystem)
	spec.NoNewPrivileges = own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation
	spec.Capabilities = capabilitiesOf(own.Capabilities)
	return nil
}

// capabilitiesOf are the default ones without those to drop. To add some is refused when the pod comes.
func capabilitiesOf(wish *corev1.Capabilities) []string {
	kept := container.DefaultCapabilities()
	if wish == nil {
		return kept
	}
	dropped := func(name string) bool {
		return slices.Contains(wish.Drop, corev1.Capability(name)) || slices.Contains(wish.Drop, "ALL")
	}
	kept = slices.DeleteFunc(kept, dropped)
	for _, name := range wish.Add {
		if !slices.Contains(kept, string(name)) {
			kept = append(kept, string(name))
		}
	}
	return kept
}

// first returns the first value that is set, or the zero value.
func first[T any](values ...*T) T {
	for _, value := range values {
		if value != nil {
			return *value
		}
	}
	return *new(T)
}
