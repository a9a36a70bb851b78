package podvolume

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Devices is where a machine has the volumes of the cloud that are attached to it, by their ids.
const Devices = "/dev/disk/by-id"

// Driver is a CSI driver with the folder that has its volumes. A machine has links to those that are attached to it.
type Driver struct{ Name, Folder string }

// DriverOf the text DRIVER=DIR.
func DriverOf(text string) (d Driver) {
	d.Name, d.Folder, _ = strings.Cut(text, "=")
	return d
}

// claim finds the folder behind a claim. A claim that is not bound yet is an error, and worth another look.
func (s *Set) claim(ctx context.Context, pod *corev1.Pod, name string, group *int64) (string, error) {
	claim, err := s.api.Claim(ctx, pod.Namespace, name)
	if err != nil {
		return "", missing(err, "persistentvolumeclaim", name, nil)
	}
	if claim.Spec.VolumeName == "" || claim.Status.Phase != corev1.ClaimBound {
		return "", fmt.Errorf("persistentvolumeclaim %q is not bound", name)
	}
	volume, err := s.api.Volume(ctx, claim.Spec.VolumeName)
	if err != nil {
		return "", missing(err, "persistentvolume", claim.Spec.VolumeName, nil)
	}
	var path string
	switch {
	case volume.Spec.HostPath != nil:
		path, err = s.hostPath(volume.Spec.HostPath)
	case volume.Spec.Local != nil:
		path = filepath.Join(s.Machine, volume.Spec.Local.Path)
		_, err = os.Stat(path)
	case volume.Spec.CSI != nil && volume.Spec.CSI.Driver == s.Cloud.Name && !isBlock(volume):
		path, err = s.attached(volume.Spec.CSI.VolumeHandle)
		if err != nil {
			err = fmt.Errorf("persistentvolume %q: %w", volume.Name, err)
		}
	default:
		err = fmt.Errorf("persistentvolume %q is of a kind that this node does not have", volume.Name)
	}
	if err != nil {
		return "", err
	}
	return path, giveToGroup(path, group, 0o060)
}

// hostPath is where a path of the host is. It sees to it that this is what its type says.
func isBlock(volume *corev1.PersistentVolume) bool {
	return ptr.Deref(volume.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) == corev1.PersistentVolumeBlock
}

// attached is the folder of a volume of the cloud. Whoever makes PersistentVolumes chooses the handle, and pods may
// write to the disk of the machine: only a link to the folder of this name counts.
func (s *Set) attached(handle string) (string, error) {
	if handle != filepath.Base(handle) || !filepath.IsLocal(handle) {
		return "", fmt.Errorf("%q is no id of a volume", handle)
	}
	folder := filepath.Join(s.Cloud.Folder, handle)
	if to, err := os.Readlink(filepath.Join(s.Machine, Devices, handle)); err != nil || to != folder {
		return "", fmt.Errorf("volume %q is not attached to this machine", handle)
	}
	_, err := os.Stat(folder)
	return folder, err
}

func (s *Set) hostPath(source *corev1.HostPathVolumeSource) (string, error) {
	path := filepath.Join(s.Machine, source.Path)
	return path, checkHostPath(&corev1.HostPathVolumeSource{Path: path, Type: source.Type})
}

// checkHostPath sees to it that a path of the host is what its type says.
func checkHostPath(source *corev1.HostPathVolumeSource) error {
	kind := corev1.HostPathUnset
	if source.Type != nil {
		kind = *source.Type
	}
	switch kind {
	case corev1.HostPathDirectoryOrCreate:
		if err := os.MkdirAll(source.Path, 0o755); err != nil {
			return fmt.Errorf("make the host path: %w", err)
		}
	case corev1.HostPathFileOrCreate:
		file, err := os.OpenFile(source.Path, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return fmt.Errorf("make the file at the host path: %w", err)
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	info, err := os.Stat(source.Path)
	if err != nil {
		return fmt.Errorf("hostPath type check failed: %w", err)
	}
	if !hostPathTypes[kind](info) {
		return fmt.Errorf("hostPath type check failed: %s is not a %s", filepath.Clean(source.Path), kind)
	}
	return nil
}

var hostPathTypes = map[corev1.HostPathType]func(os.FileInfo) bool{
	corev1.HostPathUnset:             func(os.FileInfo) bool { return true },
	corev1.HostPathDirectory:         os.FileInfo.IsDir,
	corev1.HostPathDirectoryOrCreate: os.FileInfo.IsDir,
	corev1.HostPathFile:              func(i os.FileInfo) bool { return i.Mode().IsRegular() },
	corev1.HostPathFileOrCreate:      func(i os.FileInfo) bool { return i.Mode().IsRegular() },
	corev1.HostPathSocket:            func(i os.FileInfo) bool { return i.Mode()&os.ModeSocket != 0 },
	corev1.HostPathCharDev:           func(i os.FileInfo) bool { return i.Mode()&os.ModeCharDevice != 0 },
	corev1.HostPathBlockDev: func(i os.FileInfo) bool {
		return i.Mode()&os.ModeDevice != 0 && i.Mode()&os.ModeCharDevice == 0
	},
}
