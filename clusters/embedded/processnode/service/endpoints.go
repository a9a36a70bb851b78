package service

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// candidates are the pods that may get connections: the ready ones, or else those that still serve while they end.
func candidates(pods []*corev1.Pod, publishNotReady bool) []*corev1.Pod {
	var ready, ending []*corev1.Pod
	for _, pod := range pods {
		switch {
		case pod.Status.PodIP == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		case publishNotReady:
			ready = append(ready, pod)
		case !isReady(pod):
		case pod.DeletionTimestamp != nil:
			ending = append(ending, pod)
		default:
			ready = append(ready, pod)
		}
	}
	if len(ready) == 0 {
		return ending
	}
	return ready
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// changed says whether a pod's change can matter to a service.
func changed(old, pod *corev1.Pod) bool {
	return isReady(old) != isReady(pod) || old.Status.PodIP != pod.Status.PodIP || old.Status.Phase != pod.Status.Phase ||
		(old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) || !maps.Equal(old.Labels, pod.Labels)
}

// targetPort is the pod's port behind a service's port, or 0 when the pod has no port of that name.
func targetPort(pod *corev1.Pod, port *corev1.ServicePort) int32 {
	if port.TargetPort.Type == intstr.Int {
		if port.TargetPort.IntVal == 0 {
			return port.Port
		}
		return port.TargetPort.IntVal
	}
	for i := range pod.Spec.Containers {
		for _, p := range pod.Spec.Containers[i].Ports {
			if p.Name == port.TargetPort.StrVal && p.Protocol == port.Protocol {
				return p.ContainerPort
			}
		}
	}
	return 0
}
