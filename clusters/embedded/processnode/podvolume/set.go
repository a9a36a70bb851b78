// Package podvolume makes the volumes of a pod appear as folders of the host, which containers then see at their
// mount paths: Secrets, ConfigMaps, projections, the downward API, empty folders, host paths and claims, also those of
// volumes of the cloud.
//
// It provisions no storage and starts no containers. Volumes made of API objects follow those objects when Update is
// called again.
package podvolume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// API finds what volumes are made of. A missing object is an apierrors.IsNotFound error.
type API interface {
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
	Volume(ctx context.Context, name string) (*corev1.PersistentVolume, error)
	Token(ctx context.Context, namespace, serviceAccount string,
		request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
}

// Set is the volumes of one pod. Only one goroutine may use it at a time.
type Set struct {
	api    API
	clock  clock.PassiveClock
	node   corev1.ResourceList // what resourceFieldRef shows where no limit is set
	folder string
	// Machine is the disk of the machine: paths of the host are below it. Empty for the host's own.
	Machine string
	// Cloud has volumes that are attached to machines; the zero value where there are none.
	Cloud  Driver
	paths  map[string]string // of volumes by name, on the host
	tokens map[tokenKey]token
}

// NewSet keeps the volumes of a pod in a folder of the host, which outlives restarts of the caller.
func NewSet(folder string, api API, node corev1.ResourceList, clock clock.PassiveClock) *Set {
	return &Set{api: api, clock: clock, node: node, folder: folder, paths: map[string]string{},
		tokens: map[tokenKey]token{}}
}

// Update makes all volumes, or brings them up to date. It returns when a token needs to be renewed, or zero.
// On an error, volumes that can be made have been made.
func (s *Set) Update(ctx context.Context, pod *corev1.Pod) (renew time.Time, err error) {
	var errs []error
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		path, err := s.make(ctx, pod, volume)
		if err != nil {
			errs = append(errs, fmt.Errorf("volume %q: %w", volume.Name, err))
			continue
		}
		s.paths[volume.Name] = path
	}
	return s.renewal(), errors.Join(errs...)
}

func (s *Set) make(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) (path string, err error) {
	group := fsGroup(pod)
	if path, made := s.paths[volume.Name]; made && !fromAPI(volume) {
		return path, nil
	}
	switch {
	case volume.EmptyDir != nil:
		return s.emptyFolder(volume.Name, group)
	case volume.HostPath != nil:
		return s.hostPath(volume.HostPath)
	case volume.PersistentVolumeClaim != nil:
		return s.claim(ctx, pod, volume.PersistentVolumeClaim.ClaimName, group)
	case volume.Ephemeral != nil:
		return s.claim(ctx, pod, pod.Name+"-"+volume.Name, group)
	}
	files, err := s.files(ctx, pod, volume)
	if err != nil {
		return "", err
	}
	path = filepath.Join(s.folder, volume.Name)
	return path, writeAll(path, files, group)
}

// Supported says why a volume cannot be made on this node, or nil.
func Supported(volume *corev1.Volume) error {
	v := &volume.VolumeSource
	if v.EmptyDir != nil || v.HostPath != nil || v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.Secret != nil ||
		v.ConfigMap != nil || v.DownwardAPI != nil {
		return nil
	}
	if v.Projected == nil {
		return fmt.Errorf("volume %q is of a kind that this node does not have", volume.Name)
	}
	for _, source := range v.Projected.Sources {
		if source.ClusterTrustBundle != nil || source.PodCertificate != nil {
			return fmt.Errorf("volume %q projects a kind that this node does not have", volume.Name)
		}
	}
	return nil
}

// fromAPI says whether a volume is made of API objects, and so may change.
func fromAPI(volume *corev1.Volume) bool {
	return volume.Secret != nil || volume.ConfigMap != nil || volume.DownwardAPI != nil || volume.Projected != nil
}

func fsGroup(pod *corev1.Pod) *int64 {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.FSGroup
}

func (s *Set) emptyFolder(name string, group *int64) (string, error) {
	path := filepath.Join(s.folder, name)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return "", fmt.Errorf("make the empty folder: %w", err)
	}
	if err := os.Chmod(path, 0o777); err != nil { // whatever the umask
		return "", fmt.Errorf("open the empty folder to all: %w", err)
	}
	return path, giveToGroup(path, group, 0o060)
}
