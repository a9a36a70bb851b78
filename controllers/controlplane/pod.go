package controlplane

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// mountRoot is where the secrets of a control plane appear in its pods, each in a folder of its name.
const mountRoot = "/srv/transplant"

// podIP is the environment variable by which every server of a control plane binds to its pod's own address.
var podIP = corev1.EnvVar{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{
	FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"},
}}

// metricsPort is where controllers serve metrics, by metricsFlag.
const (
	metricsPort = 9100
	metricsFlag = "--metrics-bind-address=$(POD_IP):9100"
)

// portMetrics is the name of the port of a container that serves metrics, by which scrapers find it. Where a pod has
// several, the name of the container follows, after a hyphen: names of ports are unique in a pod.
const portMetrics = "metrics"

func metricsAt(port int32) []corev1.ContainerPort {
	return []corev1.ContainerPort{{Name: portMetrics, ContainerPort: port}}
}

// secretFile is the path of a key of a mounted secret.
func secretFile(secret, key string) string { return path.Join(mountRoot, secret, key) }

func secretVolumes(secrets ...string) ([]corev1.Volume, []corev1.VolumeMount) {
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	for _, secret := range secrets {
		volumes = append(volumes, corev1.Volume{Name: secret, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: ptr.To[int32](0o400)},
		}})
		mounts = append(mounts, corev1.VolumeMount{Name: secret, MountPath: path.Join(mountRoot, secret), ReadOnly: true})
	}
	return volumes, mounts
}

// asUser has every program of a pod run as the user of the settings. Secrets are for their owner, who is root, and for
// the pod's group alone: so that is the user's.
func (o *Operation) asUser(pod corev1.PodSpec) corev1.PodSpec {
	if o.User == 0 {
		return pod
	}
	pod.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(o.User), RunAsGroup: ptr.To(o.User), FSGroup: ptr.To(o.User),
	}
	return pod
}

func httpProbe(scheme corev1.URIScheme, path string, port int, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Scheme: scheme, Path: path, Port: intstr.FromInt(port),
		}},
		PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: failures, SuccessThreshold: 1,
	}
}

func labels(component string) map[string]string {
	return map[string]string{"app": "kubernetes", "role": component, "gardener.cloud/role": "controlplane"}
}

func selector(component string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kubernetes", "role": component}}
}
