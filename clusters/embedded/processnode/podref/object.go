// Package podref is about the objects that a pod refers to: it reads them, and says whether a change of one matters. It
// watches none.
package podref

import corev1 "k8s.io/api/core/v1"

// Kinds of objects that pods refer to, as far as a change of one matters to a pod that runs.
const (
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
	KindClaim     = "PersistentVolumeClaim"
)

// Object names an object in a pod's namespace.
type Object struct{ Kind, Name string }

// RefersTo says whether a change of the object can matter to the pod.
func RefersTo(pod *corev1.Pod, object Object) bool {
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

func volumeRefersTo(pod *corev1.Pod, volume *corev1.Volume, object Object) bool {
	switch {
	case volume.Secret != nil:
		return object == Object{KindSecret, volume.Secret.SecretName}
	case volume.ConfigMap != nil:
		return object == Object{KindConfigMap, volume.ConfigMap.Name}
	case volume.PersistentVolumeClaim != nil:
		return object == Object{KindClaim, volume.PersistentVolumeClaim.ClaimName}
	case volume.Ephemeral != nil:
		return object == Object{KindClaim, pod.Name + "-" + volume.Name}
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil && object == (Object{KindSecret, source.Secret.Name}) ||
				source.ConfigMap != nil && object == (Object{KindConfigMap, source.ConfigMap.Name}) {
				return true
			}
		}
	}
	return false
}

func environmentRefersTo(c *corev1.Container, object Object) bool {
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil && object == (Object{KindSecret, from.SecretRef.Name}) ||
			from.ConfigMapRef != nil && object == (Object{KindConfigMap, from.ConfigMapRef.Name}) {
			return true
		}
	}
	for _, variable := range c.Env {
		from := variable.ValueFrom
		if from == nil {
			continue
		}
		if from.SecretKeyRef != nil && object == (Object{KindSecret, from.SecretKeyRef.Name}) ||
			from.ConfigMapKeyRef != nil && object == (Object{KindConfigMap, from.ConfigMapKeyRef.Name}) {
			return true
		}
	}
	return false
}
