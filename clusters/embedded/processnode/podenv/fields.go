package podenv

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// fields that a pod may ask for about itself.
var fields = map[string]func(*corev1.Pod) string{
	"metadata.name":           func(p *corev1.Pod) string { return p.Name },
	"metadata.namespace":      func(p *corev1.Pod) string { return p.Namespace },
	"metadata.uid":            func(p *corev1.Pod) string { return string(p.UID) },
	"metadata.labels":         func(p *corev1.Pod) string { return format(p.Labels) },
	"metadata.annotations":    func(p *corev1.Pod) string { return format(p.Annotations) },
	"spec.nodeName":           func(p *corev1.Pod) string { return p.Spec.NodeName },
	"spec.serviceAccountName": func(p *corev1.Pod) string { return p.Spec.ServiceAccountName },
	"status.hostIP":           func(p *corev1.Pod) string { return p.Status.HostIP },
	"status.hostIPs":          func(p *corev1.Pod) string { return p.Status.HostIP },
	"status.podIP":            func(p *corev1.Pod) string { return p.Status.PodIP },
	"status.podIPs":           func(p *corev1.Pod) string { return p.Status.PodIP },
}

// Field is the value of a pod's field by its path, e.g. "metadata.name" or "metadata.labels['app']".
func Field(pod *corev1.Pod, path string) (string, error) {
	if field, known := fields[path]; known {
		return field(pod), nil
	}
	prefix, subscript, ok := strings.Cut(path, "['")
	key, closed := strings.CutSuffix(subscript, "']")
	switch {
	case ok && closed && prefix == "metadata.labels":
		return pod.Labels[key], nil
	case ok && closed && prefix == "metadata.annotations":
		return pod.Annotations[key], nil
	}
	return "", fmt.Errorf("unsupported field path %q", path)
}

// format is how the downward API shows labels and annotations.
func format(values map[string]string) string {
	lines := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, fmt.Sprintf("%s=%q", key, values[key]))
	}
	return strings.Join(lines, "\n")
}

// Resource is a request or limit of a container, divided and rounded up. A limit that is not set is what the node has.
func Resource(pod *corev1.Pod, container string, selector *corev1.ResourceFieldSelector,
	node corev1.ResourceList) (string, error) {
	if selector.ContainerName != "" {
		container = selector.ContainerName
	}
	requirements, err := resourcesOf(pod, container)
	if err != nil {
		return "", err
	}
	kind, name, _ := strings.Cut(selector.Resource, ".")
	var quantity resource.Quantity
	switch kind {
	case "limits":
		var set bool
		if quantity, set = requirements.Limits[corev1.ResourceName(name)]; !set {
			quantity = node[corev1.ResourceName(name)]
		}
	case "requests":
		quantity = requirements.Requests[corev1.ResourceName(name)]
	default:
		return "", fmt.Errorf("unsupported container resource %q", selector.Resource)
	}
	divisor := selector.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == string(corev1.ResourceCPU) {
		return roundedUp(quantity.MilliValue(), divisor.MilliValue()), nil
	}
	return roundedUp(quantity.Value(), divisor.Value()), nil
}

func roundedUp(value, divisor int64) string {
	return strconv.FormatInt(int64(math.Ceil(float64(value)/float64(divisor))), 10)
}

func resourcesOf(pod *corev1.Pod, name string) (corev1.ResourceRequirements, error) {
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return containers[i].Resources, nil
			}
		}
	}
	return corev1.ResourceRequirements{}, fmt.Errorf("container %q not found", name)
}
