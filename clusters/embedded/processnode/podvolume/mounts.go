package podvolume

import (
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
)

// Mounts are where a container of the pod sees the volumes. The environment is for subPathExpr.
func (s *Set) Mounts(pod *corev1.Pod, c *corev1.Container, env *podenv.Environment) ([]container.Mount, error) {
	mounts := make([]container.Mount, 0, len(c.VolumeMounts))
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		path, known := s.paths[m.Name]
		if !known {
			return nil, fmt.Errorf("volume %q is not ready", m.Name)
		}
		subPath := m.SubPath
		if m.SubPathExpr != "" {
			subPath = podenv.Expand(m.SubPathExpr, env.Lookup)
		}
		if subPath != "" {
			var err error
			if path, err = within(path, subPath); err != nil {
				return nil, fmt.Errorf("volume mount %q: %w", m.Name, err)
			}
		}
		mounts = append(mounts, container.Mount{Source: path, Target: m.MountPath,
			ReadOnly: m.ReadOnly || readOnly(pod, m.Name)})
	}
	return mounts, nil
}

// within finds a path in a volume and makes a folder there if there is nothing. It does not leave the volume.
func within(volume, subPath string) (string, error) {
	if !filepath.IsLocal(subPath) {
		return "", fmt.Errorf("subPath %q leaves the volume", subPath)
	}
	root, err := os.OpenRoot(volume)
	if err != nil {
		return "", fmt.Errorf("open the volume: %w", err)
	}
	defer root.Close()
	if _, err := root.Stat(subPath); os.IsNotExist(err) {
		if err := root.MkdirAll(subPath, 0o755); err != nil {
			return "", fmt.Errorf("make the subPath %q: %w", subPath, err)
		}
	} else if err != nil {
		return "", fmt.Errorf("find the subPath %q: %w", subPath, err)
	}
	// Resolved now, so that the container keeps the version it has started with, as on any node.
	return filepath.EvalSymlinks(filepath.Join(volume, subPath))
}

// readOnly says whether a volume cannot be written at all.
func readOnly(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Name == name {
			return fromAPI(v) || v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly
		}
	}
	return false
}
