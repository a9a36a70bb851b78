package service

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// balance gives a service of type LoadBalancer an address and writes it into its status, and takes it back from one
// that is no load balancer any more. A service keeps its address for life.
func (f *Forwarder) balance(ctx context.Context, service *corev1.Service) error {
	owner := service.Namespace + "/" + service.Name
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		if !slices.Contains(f.LoadBalancers.Owners(), owner) {
			return nil
		}
		if err := f.writeIngress(ctx, service, nil); err != nil {
			return err
		}
		return f.LoadBalancers.Release(owner)
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ip, err := netip.ParseAddr(ingress.IP); err == nil {
			_, err := f.LoadBalancers.Claim(owner, ip)
			return err
		}
	}
	if ip, err := netip.ParseAddr(service.Spec.LoadBalancerIP); err == nil {
		if _, err := f.LoadBalancers.Claim(owner, ip); err != nil {
			return err
		}
	}
	ip, err := f.LoadBalancers.Of(owner)
	if err != nil {
		f.Recorder.Eventf(service, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "%v", err)
		return err
	}
	if err := f.writeIngress(ctx, service, []corev1.LoadBalancerIngress{{IP: ip.String()}}); err != nil {
		return err
	}
	f.Recorder.Eventf(service, corev1.EventTypeNormal, "EnsuredLoadBalancer", "The load balancer has the address %s", ip)
	return nil
}

// unbalance takes the address back from a service that is gone.
func (f *Forwarder) unbalance(owner string) error {
	if f.LoadBalancers == nil {
		return nil
	}
	return f.LoadBalancers.Release(owner)
}

func (f *Forwarder) writeIngress(ctx context.Context, service *corev1.Service,
	ingress []corev1.LoadBalancerIngress) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": service.UID},
		"status":   map[string]any{"loadBalancer": map[string]any{"ingress": ingress}},
	})
	if err != nil {
		return fmt.Errorf("encode the load balancer's address: %w", err)
	}
	_, err = f.Client.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write the load balancer's address: %w", err)
	}
	return nil
}
