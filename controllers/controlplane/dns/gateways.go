package dns

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

const (
	// handlerInfix stands between the namespace of the seed's gateway and an exposure class, in the namespace of the
	// gateway that serves shoots of that class.
	handlerInfix = "-handler-"
	// zoneInfix stands between the namespace of a gateway and a zone, in the namespace of the gateway's part in that zone.
	zoneInfix = "--"
)

// GatewayAddresses are the addresses at which clients outside reach the shoot on this seed
// (docs/specification/nodes-and-seeds.md#spec-7-4): those of the gateway of its exposure class, or of the seed's own.
// Where a gateway has parts in zones of the seed it is one address for each, as every part knows the way to every
// shoot; the gateway itself counts where it has none.
func (r *Records) GatewayAddresses(ctx context.Context) ([]string, error) {
	namespace, class := r.GatewayNamespace, ptr.Deref(r.Shoot.Spec.ExposureClassName, "")
	if class != "" {
		namespace += handlerInfix + class
	}
	var addresses []string
	for _, zone := range r.zones() {
		found, err := r.addressesOf(ctx, namespace+zoneInfix+zone)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		addresses = append(addresses, found...)
	}
	if len(addresses) == 0 {
		var err error
		if addresses, err = r.addressesOf(ctx, namespace); apierrors.IsNotFound(err) && class != "" {
			return nil, &errorcodes.Error{
				Message: fmt.Sprintf("the seed has no gateway for the exposure class %q: %v", class, err),
				Codes:   []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorConfigurationProblem},
			}
		} else if err != nil {
			return nil, err
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), nil
}

// zones are those of the seed.
func (r *Records) zones() []string {
	if r.SeedObject == nil {
		return nil
	}
	return r.SeedObject.Spec.Provider.Zones
}

// addressesOf are those of the load balancer of a gateway.
func (r *Records) addressesOf(ctx context.Context, namespace string) ([]string, error) {
	service := &corev1.Service{}
	key := client.ObjectKey{Namespace: namespace, Name: r.GatewayService}
	if err := r.Seed.Get(ctx, key, service); err != nil {
		return nil, fmt.Errorf("read the gateway's service %q: %w", key, err)
	}
	var addresses []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			addresses = append(addresses, ingress.IP)
		}
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("the gateway's service %q has no load balancer address yet", key)
	}
	return addresses, nil
}
