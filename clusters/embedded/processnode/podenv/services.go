package podenv

import (
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// APIServer is where pods reach the API server of their cluster.
type APIServer struct {
	Host string
	Port int32
}

// Services are the variables with which a pod finds the services of its namespace, <NAME>_SERVICE_HOST and its kin, and
// of the API server, KUBERNETES_SERVICE_HOST, which is not the address of service default/kubernetes here: that one's
// port 443 is beyond what an ordinary user may listen on.
func Services(services []*corev1.Service, pod *corev1.Pod, apiServer APIServer) []corev1.EnvVar {
	out := variables("KUBERNETES", apiServer.Host, []corev1.ServicePort{
		{Name: "https", Port: apiServer.Port, Protocol: corev1.ProtocolTCP},
	})
	if pod.Spec.EnableServiceLinks != nil && !*pod.Spec.EnableServiceLinks {
		return out
	}
	services = slices.SortedFunc(slices.Values(services), func(a, b *corev1.Service) int {
		return strings.Compare(a.Name, b.Name)
	})
	for _, service := range services {
		if service.Namespace != pod.Namespace || service.Spec.ClusterIP == "" ||
			service.Spec.ClusterIP == corev1.ClusterIPNone ||
			service.Namespace == corev1.NamespaceDefault && service.Name == "kubernetes" || len(service.Spec.Ports) == 0 {
			continue
		}
		out = append(out, variables(variableName(service.Name), service.Spec.ClusterIP, service.Spec.Ports)...)
	}
	return out
}

// variables of one service: the short ones first, then those in the manner of Docker's links.
func variables(name, host string, ports []corev1.ServicePort) []corev1.EnvVar {
	first := strconv.Itoa(int(ports[0].Port))
	out := []corev1.EnvVar{{Name: name + "_SERVICE_HOST", Value: host}, {Name: name + "_SERVICE_PORT", Value: first}}
	for _, port := range ports {
		if port.Name != "" {
			out = append(out, corev1.EnvVar{Name: name + "_SERVICE_PORT_" + variableName(port.Name),
				Value: strconv.Itoa(int(port.Port))})
		}
	}
	for i, port := range ports {
		number, protocol := strconv.Itoa(int(port.Port)), string(port.Protocol)
		url := strings.ToLower(protocol) + "://" + net.JoinHostPort(host, number)
		if i == 0 {
			out = append(out, corev1.EnvVar{Name: name + "_PORT", Value: url})
		}
		prefix := name + "_PORT_" + number + "_" + protocol
		out = append(out, corev1.EnvVar{Name: prefix, Value: url},
			corev1.EnvVar{Name: prefix + "_PROTO", Value: strings.ToLower(protocol)},
			corev1.EnvVar{Name: prefix + "_PORT", Value: number}, corev1.EnvVar{Name: prefix + "_ADDR", Value: host})
	}
	return out
}

func variableName(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
