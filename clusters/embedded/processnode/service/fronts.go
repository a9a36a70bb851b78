// Package service forwards the addresses of a cluster's services to its ready pods, as kube-proxy and a cloud's load
// balancers do elsewhere.
//
// It speaks TCP only and looks into nothing: bytes, half-closed connections and resets pass. It writes no
// EndpointSlices, which cannot hold the loopback addresses of this node's pods.
package service

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func isAPIServer(service *corev1.Service) bool {
	return service.Namespace == metav1.NamespaceDefault && service.Name == "kubernetes"
}

// wanted maps the addresses to listen on to what is behind them. Where nothing is ready, nobody listens, so that
// connections are refused.
func (f *Forwarder) wanted(service *corev1.Service) (map[netip.AddrPort][]string, error) {
	wanted := map[netip.AddrPort][]string{}
	if len(service.Spec.Selector) == 0 && !isAPIServer(service) {
		return wanted, nil
	}
	pods, err := f.Pods.Pods(service.Namespace).List(labels.SelectorFromSet(service.Spec.Selector))
	if err != nil {
		return nil, fmt.Errorf("list the pods of the service: %w", err)
	}
	ready := candidates(pods, service.Spec.PublishNotReadyAddresses)
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		if port.Protocol != corev1.ProtocolTCP {
			continue
		}
		backends := backendsOf(ready, port)
		if isAPIServer(service) {
			backends = []string{f.APIServer}
		}
		if len(backends) == 0 {
			continue
		}
		for _, front := range f.fronts(service, port) {
			wanted[front] = backends
		}
	}
	return wanted, nil
}

// fronts are the addresses of one port of a service.
func (f *Forwarder) fronts(service *corev1.Service, port *corev1.ServicePort) []netip.AddrPort {
	var fronts []netip.AddrPort
	add := func(text string, ours func(netip.Addr) bool) {
		if ip, err := netip.ParseAddr(text); err == nil && ours(ip) {
			fronts = append(fronts, netip.AddrPortFrom(ip, uint16(port.Port)))
		}
	}
	for _, ip := range service.Spec.ClusterIPs {
		add(ip, f.ServiceAddresses.Contains) // "None" is no address
	}
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			add(ingress.IP, f.balances)
		}
	}
	if port.NodePort != 0 && f.Node.IsValid() {
		fronts = append(fronts, netip.AddrPortFrom(f.Node, uint16(port.NodePort)))
	}
	return fronts
}

// balances says whether an address of a load balancer is one to listen on.
func (f *Forwarder) balances(ip netip.Addr) bool {
	return f.Balanced.Contains(ip) || f.LoadBalancers != nil && f.LoadBalancers.Contains(ip)
}

// backendsOf are the addresses of the pods for one port of the service, in a steady order.
func backendsOf(pods []*corev1.Pod, port *corev1.ServicePort) []string {
	var backends []string
	for _, pod := range pods {
		if number := targetPort(pod, port); number != 0 {
			backends = append(backends, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(number))))
		}
	}
	slices.Sort(backends)
	return backends
}
