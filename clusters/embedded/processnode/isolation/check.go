// Package isolation says what a pod may ask of this node in terms of isolation, and what that means for its containers:
// user, groups, capabilities, a read-only root. It starts none.
package isolation

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
)

// Check says why the pod cannot run on this node, or nil. A pod that would run with less than it asks for is refused.
func Check(pod *corev1.Pod) error {
	spec := &pod.Spec
	switch {
	case spec.HostPID || spec.HostIPC:
		return errors.New("hostPID and hostIPC are not available")
	case first(spec.ShareProcessNamespace):
		return errors.New("shareProcessNamespace is not available")
	case spec.OS != nil && spec.OS.Name != corev1.Linux:
		return fmt.Errorf("the node runs %s, not %s", corev1.Linux, spec.OS.Name)
	case len(spec.ResourceClaims) > 0:
		return errors.New("resourceClaims are not available")
	}
	for i := range spec.Volumes {
		if err := podvolume.Supported(&spec.Volumes[i]); err != nil {
			return err
		}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if err := admitContainer(&containers[i], spec.HostNetwork); err != nil {
				return fmt.Errorf("container %q: %w", containers[i].Name, err)
			}
		}
	}
	return nil
}

func admitContainer(c *corev1.Container, hostNetwork bool) error {
	if len(c.VolumeDevices) > 0 {
		return errors.New("volumeDevices are not available")
	}
	for _, port := range c.Ports {
		if port.HostPort != 0 && !hostNetwork {
			return fmt.Errorf("hostPort %d is available with hostNetwork only", port.HostPort)
		}
	}
	if c.SecurityContext == nil {
		return nil
	}
	if first(c.SecurityContext.Privileged) {
		return errors.New("privileged containers are not available")
	}
	if c.SecurityContext.Capabilities != nil {
		for _, name := range c.SecurityContext.Capabilities.Add {
			if !container.IsDefaultCapability(string(name)) {
				return fmt.Errorf("capability %s is not available", name)
			}
		}
	}
	return nil
}
