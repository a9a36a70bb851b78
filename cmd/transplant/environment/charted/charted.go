// Package charted makes the Deployment of an extension's chart an actor of a landscape. It renders no chart, and
// applies nothing.
package charted

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/sim/chart"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Actor is what a Deployment becomes.
type Actor struct {
	Extension landscape.Extension
	Seed      string
	// Account is the ServiceAccount, in the namespace of the extension.
	Account string
	// User that it runs as; 0 leaves it to the image.
	User int64
	// ImageOf a container.
	ImageOf func(landscape.ExtensionContainer) string
}

// Deployment is the one of a chart as an actor, which it changes: one replica beside its ServiceAccount, with the
// kubeconfigs of its links and the variables that name it. What only places pods or limits them has no meaning here,
// and is left out.
func (a Actor) Deployment(d *appsv1.Deployment) *appsv1.Deployment {
	e := a.Extension
	d.APIVersion, d.Kind = "apps/v1", "Deployment"
	d.Namespace = e.Namespace()
	d.Spec.Replicas, d.Spec.MinReadySeconds = ptr.To[int32](1), 2
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	pod := &d.Spec.Template.Spec
	pod.ServiceAccountName, pod.AutomountServiceAccountToken = a.Account, ptr.To(false)
	pod.DeprecatedServiceAccount = ""
	pod.Affinity, pod.NodeSelector, pod.Tolerations, pod.TopologySpreadConstraints = nil, nil, nil, nil
	pod.PriorityClassName, pod.RuntimeClassName, pod.ImagePullSecrets, pod.SchedulerName = "", nil, nil, ""
	pod.TerminationGracePeriodSeconds = ptr.To[int64](5)
	pod.SecurityContext = nil
	if a.User > 0 {
		pod.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: &a.User, RunAsGroup: &a.User,
			FSGroup: &a.User}
	}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			a.complete(&containers[i])
		}
	}
	secret := func(name, of string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: of, DefaultMode: ptr.To[int32](0o400)}}}
	}
	pod.Volumes = append(pod.Volumes, secret(chart.VolumePrefix+"seed", "kubeconfig-seed"),
		secret(chart.VolumePrefix+"cloud", "kubeconfig-cloud"), corev1.Volume{Name: chart.VolumePrefix + "namespace",
			VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
				Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace",
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}}})
	if len(e.Files) > 0 {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: chart.VolumePrefix + "files", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "files"}}}})
	}
	return d
}

// complete a container of a chart: what runs in it, and what every extension's program gets. Args of the extension's
// file come last, and its environment replaces that of the chart: they win.
func (a Actor) complete(c *corev1.Container) {
	e := a.Extension
	c.ImagePullPolicy, c.Resources, c.SecurityContext = corev1.PullIfNotPresent, corev1.ResourceRequirements{}, nil
	for _, program := range e.Containers {
		if program.Name != c.Name {
			continue
		}
		c.Image, c.Args = a.ImageOf(program), append(c.Args, program.Args...)
		if program.Binary != "" {
			c.Command = append([]string{filepath.Base(program.Binary)}, c.Command[min(1, len(c.Command)):]...)
		}
	}
	own := []corev1.EnvVar{
		{Name: "KUBECONFIG", Value: "/srv/seed/kubeconfig"}, {Name: "CLOUD_KUBECONFIG", Value: "/srv/cloud/kubeconfig"},
		{Name: "SEED_NAME", Value: a.Seed}, {Name: landscape.ActorVariable, Value: e.ActorOn(a.Seed)},
	}
	for name, path := range map[string]string{"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace",
		"LEADER_ELECTION_NAMESPACE": "metadata.namespace", "POD_IP": "status.podIP"} {
		own = append(own, corev1.EnvVar{Name: name,
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}})
	}
	for _, variable := range e.Env {
		own = append(own, corev1.EnvVar{Name: variable.Name, Value: variable.Value})
	}
	slices.SortStableFunc(own, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	c.Env = slices.DeleteFunc(c.Env, func(given corev1.EnvVar) bool {
		return slices.ContainsFunc(own, func(ours corev1.EnvVar) bool { return ours.Name == given.Name })
	})
	c.Env = append(own, c.Env...) // those of the chart may refer to ours
	c.VolumeMounts = append(c.VolumeMounts,
		corev1.VolumeMount{Name: chart.VolumePrefix + "seed", MountPath: "/srv/seed", ReadOnly: true},
		corev1.VolumeMount{Name: chart.VolumePrefix + "cloud", MountPath: "/srv/cloud", ReadOnly: true},
		corev1.VolumeMount{Name: chart.VolumePrefix + "namespace", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
			ReadOnly: true})
	for i, file := range e.Files {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: chart.VolumePrefix + "files", MountPath: file.Path,
			SubPath: fmt.Sprintf("file-%d", i), ReadOnly: true})
	}
}
