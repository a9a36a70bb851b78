package podvolume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
)

// files are the contents of a volume that is made of API objects.
func (s *Set) files(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) (map[string]file, error) {
	switch {
	case volume.Secret != nil:
		v := volume.Secret
		return s.secret(ctx, pod, v.SecretName, v.Items, mode(v.DefaultMode), v.Optional)
	case volume.ConfigMap != nil:
		v := volume.ConfigMap
		return s.configMap(ctx, pod, v.Name, v.Items, mode(v.DefaultMode), v.Optional)
	case volume.DownwardAPI != nil:
		return s.downward(pod, volume.DownwardAPI.Items, mode(volume.DownwardAPI.DefaultMode))
	case volume.Projected != nil:
		return s.projected(ctx, pod, volume.Projected)
	}
	return nil, Supported(volume)
}

func (s *Set) projected(ctx context.Context, pod *corev1.Pod, projected *corev1.ProjectedVolumeSource) (map[string]file,
	error) {
	all := map[string]file{}
	for i := range projected.Sources {
		files, err := s.projection(ctx, pod, &projected.Sources[i], mode(projected.DefaultMode))
		if err != nil {
			return nil, err
		}
		maps.Copy(all, files)
	}
	return all, nil
}

func (s *Set) projection(ctx context.Context, pod *corev1.Pod, source *corev1.VolumeProjection,
	mode fs.FileMode) (map[string]file, error) {
	switch {
	case source.Secret != nil:
		return s.secret(ctx, pod, source.Secret.Name, source.Secret.Items, mode, source.Secret.Optional)
	case source.ConfigMap != nil:
		return s.configMap(ctx, pod, source.ConfigMap.Name, source.ConfigMap.Items, mode, source.ConfigMap.Optional)
	case source.DownwardAPI != nil:
		return s.downward(pod, source.DownwardAPI.Items, mode)
	case source.ServiceAccountToken != nil:
		content, err := s.token(ctx, pod, source.ServiceAccountToken)
		if err != nil {
			return nil, err
		}
		return map[string]file{source.ServiceAccountToken.Path: {[]byte(content), tokenMode(pod, mode)}}, nil
	}
	return nil, errors.New("a projection of a kind that this node does not have")
}

func (s *Set) secret(ctx context.Context, pod *corev1.Pod, name string, items []corev1.KeyToPath, mode fs.FileMode,
	optional *bool) (map[string]file, error) {
	secret, err := s.api.Secret(ctx, pod.Namespace, name)
	if err != nil {
		return nil, missing(err, "secret", name, optional)
	}
	return pick(secret.Data, items, mode, fmt.Sprintf("secret %q", name), optional)
}

func (s *Set) configMap(ctx context.Context, pod *corev1.Pod, name string, items []corev1.KeyToPath, mode fs.FileMode,
	optional *bool) (map[string]file, error) {
	configMap, err := s.api.ConfigMap(ctx, pod.Namespace, name)
	if err != nil {
		return nil, missing(err, "configmap", name, optional)
	}
	data := maps.Clone(configMap.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, value := range configMap.Data {
		data[key] = []byte(value)
	}
	return pick(data, items, mode, fmt.Sprintf("configmap %q", name), optional)
}

// missing forgives the lack of an optional object.
func missing(err error, kind, name string, optional *bool) error {
	switch {
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read the %s %q: %w", kind, name, err)
	case optional != nil && *optional:
		return nil
	}
	return fmt.Errorf("%s %q not found", kind, name)
}

// pick takes the items, or everything when none are named.
func pick(data map[string][]byte, items []corev1.KeyToPath, mode fs.FileMode, from string,
	optional *bool) (map[string]file, error) {
	files := make(map[string]file, len(data))
	if len(items) == 0 {
		for key, value := range data {
			files[key] = file{value, mode}
		}
		return files, nil
	}
	for _, item := range items {
		value, present := data[item.Key]
		if !present {
			if optional != nil && *optional {
				continue
			}
			return nil, fmt.Errorf("%s has no key %q", from, item.Key)
		}
		files[path.Clean(item.Path)] = file{value, itemMode(item.Mode, mode)}
	}
	return files, nil
}

func (s *Set) downward(pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, mode fs.FileMode) (map[string]file,
	error) {
	files := make(map[string]file, len(items))
	for _, item := range items {
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = podenv.Field(pod, item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			value, err = podenv.Resource(pod, item.ResourceFieldRef.ContainerName, item.ResourceFieldRef, s.node)
		}
		if err != nil {
			return nil, err
		}
		files[path.Clean(item.Path)] = file{[]byte(value), itemMode(item.Mode, mode)}
	}
	return files, nil
}

// mode is a volume's default mode; the API server fills it in.
func mode(m *int32) fs.FileMode { return itemMode(m, 0o644) }

func itemMode(m *int32, otherwise fs.FileMode) fs.FileMode {
	if m == nil {
		return otherwise
	}
	return fs.FileMode(*m) & fs.ModePerm
}
