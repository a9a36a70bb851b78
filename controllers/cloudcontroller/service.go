package cloudcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// finalizerBalancer keeps a Service until its load balancer is gone; the name is that of Kubernetes.
const finalizerBalancer = "service.kubernetes.io/load-balancer-cleanup"

// Services gives each Service of type LoadBalancer a load balancer of the cloud.
type Services struct {
	Shoot  client.Client // reads from the API server
	Events events.EventRecorder
	Account
}

func concernsService(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer || controllerutil.ContainsFinalizer(s, finalizerBalancer)
}

// wantsBalancer leaves those of another class to whoever serves it.
func wantsBalancer(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil && s.DeletionTimestamp == nil
}

// balancerName is the name that Kubernetes gives to the load balancer of a Service.
func balancerName(s *corev1.Service) string {
	return "a" + strings.ReplaceAll(string(s.UID), "-", "")[:31]
}

// Reconcile makes or removes the load balancer of one Service.
func (r *Services) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	service := &corev1.Service{}
	if err := r.Shoot.Get(ctx, request.NamespacedName, service); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	act := r.release
	if wantsBalancer(service) {
		act = r.ensure
	}
	err := act(ctx, service)
	warn(r.Events, service, "SyncLoadBalancerFailed", "SyncLoadBalancer", err)
	return reconcile.Result{}, err
}

func (r *Services) balancers(ctx context.Context, s *corev1.Service) ([]cloud.LoadBalancer, error) {
	found, err := r.Cloud.LoadBalancers().List(r.scoped(ctx),
		cloud.Filter{Name: balancerName(s), Tags: map[string]string{TagShoot: r.Account.Shoot}})
	if err != nil {
		return nil, fmt.Errorf("look for the load balancer: %w", err)
	}
	return found, nil
}

func (r *Services) ensure(ctx context.Context, s *corev1.Service) error {
	if !controllerutil.ContainsFinalizer(s, finalizerBalancer) {
		if err := patch.LockedObject(ctx, r.Shoot, s, func() {
			controllerutil.AddFinalizer(s, finalizerBalancer)
		}); err != nil {
			return err
		}
	}
	found, err := r.balancers(ctx, s)
	if err != nil {
		return err
	}
	var balancer *cloud.LoadBalancer
	switch ports := portsOf(s); {
	case len(found) == 0:
		balancer, err = r.create(ctx, s, ports)
	case !slices.Equal(found[0].Ports, ports):
		balancer, err = r.change(ctx, &found[0], ports)
	default:
		balancer = &found[0]
	}
	if err != nil {
		return err
	}
	return r.publish(ctx, s, balancer.Addresses)
}

func (r *Services) create(ctx context.Context, s *corev1.Service, ports []int32) (made *cloud.LoadBalancer, err error) {
	err = r.own(ctx, func(ctx context.Context, tags map[string]string) error {
		tags[cloud.TagFor] = "Service " + s.Namespace + "/" + s.Name
		wanted := &cloud.LoadBalancer{Name: balancerName(s), Ports: ports, Tags: tags}
		made, err = r.Cloud.LoadBalancers().Create(ctx, wanted, cloud.ClientToken("service-"+string(s.UID)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create the load balancer: %w", err)
	}
	return made, nil
}

func (r *Services) change(ctx context.Context, balancer *cloud.LoadBalancer,
	ports []int32) (changed *cloud.LoadBalancer, err error) {
	err = r.own(ctx, func(ctx context.Context, _ map[string]string) error {
		balancer.Ports = ports
		changed, err = r.Cloud.LoadBalancers().Update(ctx, balancer.ID, balancer)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change the load balancer: %w", err)
	}
	return changed, nil
}

// publish writes the addresses into the Service's status.
func (r *Services) publish(ctx context.Context, s *corev1.Service, addresses []string) error {
	var shown []string
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		shown = append(shown, ingress.IP)
	}
	if slices.Equal(shown, addresses) {
		return nil
	}
	return client.IgnoreNotFound(patch.Status(ctx, r.Shoot, s, func() {
		s.Status.LoadBalancer.Ingress = nil
		for _, address := range addresses {
			s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: address})
		}
	}))
}

// release removes the load balancer of a Service that wants none any more, and lets the Service go.
func (r *Services) release(ctx context.Context, s *corev1.Service) error {
	if !controllerutil.ContainsFinalizer(s, finalizerBalancer) {
		return nil
	}
	found, err := r.balancers(ctx, s)
	if err != nil {
		return err
	}
	for _, balancer := range found {
		if err := discard(ctx, r.Account, r.Cloud.LoadBalancers(), balancer.ID); err != nil {
			return fmt.Errorf("delete the load balancer: %w", err)
		}
	}
	if s.DeletionTimestamp == nil {
		if err := r.publish(ctx, s, nil); err != nil {
			return err
		}
	}
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Shoot, s, func() {
		controllerutil.RemoveFinalizer(s, finalizerBalancer)
	}))
}

// portsOf are a Service's ports, in order, each once.
func portsOf(s *corev1.Service) []int32 {
	var ports []int32
	for _, port := range s.Spec.Ports {
		ports = append(ports, port.Port)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}
