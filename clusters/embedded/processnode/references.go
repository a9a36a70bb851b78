package processnode

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Kinds of objects that pods refer to, as far as a change of one matters to a pod that runs.
const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
	kindClaim     = "PersistentVolumeClaim"
)

// reference names an object in a pod's namespace.
type reference struct{ kind, name string }

// refersTo says whether a change of the object can matter to the pod.
func refersTo(pod *corev1.Pod, object reference) bool {
	for i := range pod.Spec.Volumes {
		if volumeRefersTo(pod, &pod.Spec.Volumes[i], object) {
			return true
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if environmentRefersTo(&containers[i], object) {
				return true
			}
		}
	}
	return false
}

func volumeRefersTo(pod *corev1.Pod, volume *corev1.Volume, object reference) bool {
	switch {
	case volume.Secret != nil:
		return object == reference{kindSecret, volume.Secret.SecretName}
	case volume.ConfigMap != nil:
		return object == reference{kindConfigMap, volume.ConfigMap.Name}
	case volume.PersistentVolumeClaim != nil:
		return object == reference{kindClaim, volume.PersistentVolumeClaim.ClaimName}
	case volume.Ephemeral != nil:
		return object == reference{kindClaim, pod.Name + "-" + volume.Name}
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil && object == (reference{kindSecret, source.Secret.Name}) ||
				source.ConfigMap != nil && object == (reference{kindConfigMap, source.ConfigMap.Name}) {
				return true
			}
		}
	}
	return false
}

func environmentRefersTo(c *corev1.Container, object reference) bool {
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil && object == (reference{kindSecret, from.SecretRef.Name}) ||
			from.ConfigMapRef != nil && object == (reference{kindConfigMap, from.ConfigMapRef.Name}) {
			return true
		}
	}
	for _, variable := range c.Env {
		from := variable.ValueFrom
		if from == nil {
			continue
		}
		if from.SecretKeyRef != nil && object == (reference{kindSecret, from.SecretKeyRef.Name}) ||
			from.ConfigMapKeyRef != nil && object == (reference{kindConfigMap, from.ConfigMapKeyRef.Name}) {
			return true
		}
	}
	return false
}

// sameMetadata says whether nothing has changed that the downward API may show.
func sameMetadata(a, b *corev1.Pod) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations)
}
