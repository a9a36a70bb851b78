package dns

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

// One address per zone or exposure class where the seed has them (docs/specification/nodes-and-seeds.md#spec-7-4).
func TestGatewayAddresses(t *testing.T) {
	t.Parallel()
	gateway := func(namespace string, ips ...string) client.Object {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gateway"}}
		for _, ip := range ips {
			service.Status.LoadBalancer.Ingress = append(service.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip})
		}
		return service
	}
	for name, test := range map[string]struct {
		class    string
		zones    []string
		gateways []client.Object
		want     []string
		err      string
		codes    []gardencorev1beta1.ErrorCode
	}{
		"one gateway": {gateways: []client.Object{gateway("in", "127.0.0.1")}, want: []string{"127.0.0.1"}},
		"one load balancer with an address per zone": {
			gateways: []client.Object{gateway("in", "127.0.0.2", "127.0.0.1")}, want: []string{"127.0.0.1", "127.0.0.2"},
		},
		"a gateway per zone": {
			zones: []string{"z1", "z2"},
			gateways: []client.Object{gateway("in", "127.0.0.1"), gateway("in--z1", "127.0.0.2"),
				gateway("in--z2", "127.0.0.3")}, want: []string{"127.0.0.2", "127.0.0.3"},
		},
		"zones without gateways": {zones: []string{"z1"}, gateways: []client.Object{gateway("in", "127.0.0.1")},
			want: []string{"127.0.0.1"}},
		"a zone's gateway has no address yet": {
			zones: []string{"z1"}, gateways: []client.Object{gateway("in", "127.0.0.1"), gateway("in--z1")},
			err: `"in--z1/gateway" has no load balancer address yet`,
		},
		"an exposure class": {
			class:    "internal",
			gateways: []client.Object{gateway("in", "127.0.0.1"), gateway("in-handler-internal", "127.0.0.9")},
			want:     []string{"127.0.0.9"},
		},
		"an exposure class in zones": {
			class: "internal", zones: []string{"z1"},
			gateways: []client.Object{gateway("in--z1", "127.0.0.1"), gateway("in-handler-internal--z1", "127.0.0.9")},
			want:     []string{"127.0.0.9"},
		},
		"an exposure class that the seed has not": {
			class: "internal", gateways: []client.Object{gateway("in", "127.0.0.1")},
			err:   `no gateway for the exposure class "internal"`,
			codes: []gardencorev1beta1.ErrorCode{"ERR_CONFIGURATION_PROBLEM"},
		},
		"no gateway": {err: `read the gateway's service "in/gateway"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{},
				test.gateways...))
			o.GatewayNamespace, o.GatewayService = "in", "gateway"
			o.SeedObject = &gardencorev1beta1.Seed{}
			o.SeedObject.Spec.Provider.Zones = test.zones
			if test.class != "" {
				o.Shoot.Spec.ExposureClassName = ptr.To(test.class)
			}
			got, err := o.gatewayAddresses(t.Context())
			if test.err != "" {
				coded := &errorcodes.Error{}
				if err == nil || !strings.Contains(err.Error(), test.err) || errors.As(err, &coded) != (test.codes != nil) ||
					!slices.Equal(coded.Codes, test.codes) {
					t.Fatalf("the error is %v with codes %v, want %q with %v", err, coded.Codes, test.err, test.codes)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("addresses (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}
