package podref

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRefersTo(t *testing.T) {
	t.Parallel()
	named := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "a", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "secret-volume"}}},
			{Name: "b", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: named("map-volume")}}},
			{Name: "c", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: "claim"}}},
			{Name: "d", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			{Name: "e", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{
					{Secret: &corev1.SecretProjection{LocalObjectReference: named("projected-secret")}},
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("projected-map")}},
				}}}},
		},
		InitContainers: []corev1.Container{
			{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("env-from")}}}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{{ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named("key")},
		}}}}},
	}}
	for object, want := range map[Object]bool{
		{KindSecret, "secret-volume"}: true, {KindConfigMap, "map-volume"}: true, {KindClaim, "claim"}: true,
		{KindClaim, "p-d"}:               true,
		{KindSecret, "projected-secret"}: true, {KindConfigMap, "projected-map"}: true, {KindSecret, "env-from"}: true,
		{KindConfigMap, "key"}: true,
		{KindSecret, "key"}:    false, {KindConfigMap, "secret-volume"}: false, {KindSecret, ""}: false,
	} {
		if got := RefersTo(pod, object); got != want {
			t.Errorf("%v: got %t", object, got)
		}
	}
}
