package clustertest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// podOption changes a pod before it is made.
type podOption func(*corev1.Pod)

// container returns a container of testpod that runs the steps.
func (f *fixture) container(name, steps string) corev1.Container {
	return corev1.Container{
		Name: name, Image: f.image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"testpod"},
		Args: strings.Fields(steps),
		Env: []corev1.EnvVar{{Name: "POD_IP",
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
	}
}

// pod makes a pod of one container "c" that runs the steps. Pods of the cases end soon when they are deleted.
func (f *fixture) pod(name, steps string, options ...podOption) *corev1.Pod {
	f.Helper()
	pod := f.newPod(name, steps, options...)
	made, err := f.client.CoreV1().Pods(f.namespace).Create(f.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create pod %s: %v", name, err)
	}
	return made
}

func (f *fixture) newPod(name, steps string, options ...podOption) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To(int64(10)),
			Containers: []corev1.Container{f.container("c", steps)}},
	}
	for _, option := range options {
		option(pod)
	}
	return pod
}

func restart(policy corev1.RestartPolicy) podOption {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = policy }
}

var never = restart(corev1.RestartPolicyNever)

func grace(seconds int64) podOption {
	return func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
}

// edit changes the main container.
func edit(change func(*corev1.Container)) podOption {
	return func(pod *corev1.Pod) { change(&pod.Spec.Containers[0]) }
}

func env(variables ...corev1.EnvVar) podOption {
	return edit(func(c *corev1.Container) { c.Env = append(c.Env, variables...) })
}

// with adds further containers.
func with(containers ...corev1.Container) podOption {
	return func(pod *corev1.Pod) { pod.Spec.Containers = append(pod.Spec.Containers, containers...) }
}

func initWith(containers ...corev1.Container) podOption {
	return func(pod *corev1.Pod) { pod.Spec.InitContainers = append(pod.Spec.InitContainers, containers...) }
}

// volume adds a volume and mounts it into every container that is there so far.
func volume(name, path string, source corev1.VolumeSource) podOption {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range containers {
				containers[i].VolumeMounts = append(containers[i].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
			}
		}
	}
}

// shared is an empty folder for all containers at /shared.
func shared() podOption {
	return volume("shared", "/shared", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
}

func (f *fixture) secret(name string, data map[string]string) {
	f.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	if _, err := f.client.CoreV1().Secrets(f.namespace).Create(f.Context(), secret, metav1.CreateOptions{}); err != nil {
		f.Fatalf("create secret %s: %v", name, err)
	}
}

func (f *fixture) configMap(name string, data map[string]string) {
	f.Helper()
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := f.client.CoreV1().ConfigMaps(f.namespace).Create(f.Context(), configMap,
		metav1.CreateOptions{}); err != nil {
		f.Fatalf("create config map %s: %v", name, err)
	}
}
