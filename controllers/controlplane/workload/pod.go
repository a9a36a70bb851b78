package workload

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// MountRoot is where the secrets of a control plane appear in its pods, each in a folder of its name.
const MountRoot = "/srv/transplant"

// PodIP is the environment variable by which every server of a control plane binds to its pod's own address.
var PodIP = corev1.EnvVar{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{
	FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"},
}}

// PortMetrics is where controllers serve metrics, by MetricsFlag.
const (
	PortMetrics = 9100
	MetricsFlag = "--metrics-bind-address=$(POD_IP):9100"
)

// PortNameMetrics is the name of the port of a container that serves metrics, by which scrapers find it. Where a pod
// has several, the name of the container follows, after a hyphen: names of ports are unique in a pod.
const PortNameMetrics = "metrics"

// MetricsAt is the port at which a container serves metrics.
func MetricsAt(port int32) []corev1.ContainerPort {
	return []corev1.ContainerPort{{Name: PortNameMetrics, ContainerPort: port}}
}

// SecretFile is the path of a key of a mounted secret.
func SecretFile(secret, key string) string { return path.Join(MountRoot, secret, key) }

// SecretVolumes mount secrets of the control plane, each where SecretFile finds it.
func SecretVolumes(secrets ...string) ([]corev1.Volume, []corev1.VolumeMount) {
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	for _, secret := range secrets {
		volumes = append(volumes, corev1.Volume{Name: secret, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: ptr.To[int32](0o400)},
		}})
		mounts = append(mounts, corev1.VolumeMount{Name: secret, MountPath: path.Join(MountRoot, secret), ReadOnly: true})
	}
	return volumes, mounts
}

// AsUser has every program of a pod run as the user of the settings. Secrets are for their owner, who is root, and for
// the pod's group alone: so that is the user's.
func (w *Workloads) AsUser(pod corev1.PodSpec) corev1.PodSpec {
	if w.User == 0 {
		return pod
	}
	pod.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(w.User), RunAsGroup: ptr.To(w.User), FSGroup: ptr.To(w.User),
	}
	return pod
}

// HTTPProbe asks a path every second.
func HTTPProbe(scheme corev1.URIScheme, path string, port int, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Scheme: scheme, Path: path, Port: intstr.FromInt(port),
		}},
		PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: failures, SuccessThreshold: 1,
	}
}

// Labels are those of the pods of a component.
func Labels(component string) map[string]string {
	return map[string]string{"app": "kubernetes", "role": component, "gardener.cloud/role": "controlplane"}
}

// Selector finds the pods of a component.
func Selector(component string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kubernetes", "role": component}}
}
