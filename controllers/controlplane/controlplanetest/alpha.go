package controlplanetest

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// InternalHost and ExternalHost are the names of the API server of the shoot of Named.
const (
	InternalHost = "api.alpha.p.shoots.test"
	ExternalHost = "api.alpha.p.clusters.test"
)

// WithDomain gives a shoot a domain, and providers for it.
func WithDomain(shoot *gardencorev1beta1.Shoot, domain string, providers ...gardencorev1beta1.DNSProvider) {
	shoot.Spec.DNS = &gardencorev1beta1.DNS{Domain: ptr.To(domain), Providers: providers}
}

// Named is the scope of a run on a seed with a gateway, which offers default domains.
func Named(t *testing.T, operation gardencorev1beta1.LastOperationType, onSeed ...client.Object) *scope.Scope {
	t.Helper()
	gateway := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-ingress", Name: "gateway"}}
	gateway.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.0.0.2"}}
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden",
		Name: "control-plane-kubeconfig-cloud"}, Data: map[string][]byte{"kubeconfig": []byte(KubeconfigOfSeed)}}
	o := Scope(t, operation, interceptor.Funcs{}, append(onSeed, gateway, credentials)...)
	o.InternalDomain, o.GatewayNamespace, o.GatewayService, o.GatewayPort = "shoots.test", "istio-ingress", "gateway", 9443
	o.SeedName, o.SeedObject = "a", SeedA()
	o.SeedObject.Spec.DNS.Defaults = []gardencorev1beta1.SeedDNSProviderConfig{
		{Type: "short", Domain: "test"}, {Type: "transplant", Domain: "clusters.test"},
		{Type: "zoned", Domain: "zoned.test", Zone: ptr.To("z-1")},
	}
	return o
}

// KubeconfigOfSeed is the way to the cloud that the seed holds ready for all control planes.
const KubeconfigOfSeed = `{"apiVersion": "v1", "kind": "Config", "users": [{"name": "control-planes-a",
"user": {"token": "of-all-shoots"}}]}`

// ConfinedKubeconfig is what the shoot gets of KubeconfigOfSeed.
func ConfinedKubeconfig(t *testing.T) string {
	t.Helper()
	confined, err := cloud.ConfineKubeconfig([]byte(KubeconfigOfSeed), "shoot--p--alpha")
	if err != nil {
		t.Fatal(err)
	}
	token := cloud.ConfinedToken("of-all-shoots", "shoot--p--alpha")
	if text := string(confined); !strings.Contains(text, token) || strings.Contains(text, "of-all-shoots") {
		t.Fatalf("the confined kubeconfig is %s", text)
	}
	return string(confined)
}

// EtcdOf is the etcd of an epoch.
func EtcdOf(epoch string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shoot--p--alpha", Name: "etcd-main", Annotations: map[string]string{"transplant.dev/epoch": epoch},
	}}
}

// Infrastructure is shoot alpha's, by name.
func Infrastructure() *extensionsv1alpha1.Infrastructure {
	return &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Namespace: "shoot--p--alpha"}}
}

// Certs is an Extension of shoot alpha, by name.
func Certs() *extensionsv1alpha1.Extension {
	return &extensionsv1alpha1.Extension{ObjectMeta: metav1.ObjectMeta{Name: "certs", Namespace: "shoot--p--alpha"}}
}

// FullScheme knows the kinds that a control plane may leave on a seed.
func FullScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := SeedScheme(t)
	for _, add := range []func(*runtime.Scheme) error{machinev1alpha1.AddToScheme, resourcesv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// Registration is that of one type of Extensions; empty moments are not said.
func Registration(name string, reconcile, remove, migrate gardencorev1beta1.ControllerResourceLifecycleStrategy,
	with ...func(*gardencorev1beta1.ControllerResource)) *gardencorev1beta1.ControllerRegistration {
	type moment = gardencorev1beta1.ControllerResourceLifecycleStrategy
	said := func(moment moment) *moment {
		if moment == "" {
			return nil
		}
		return &moment
	}
	resource := gardencorev1beta1.ControllerResource{Kind: "Extension", Type: name}
	if reconcile != "" || remove != "" || migrate != "" {
		resource.Lifecycle = &gardencorev1beta1.ControllerResourceLifecycle{Reconcile: said(reconcile), Delete: said(remove),
			Migrate: said(migrate)}
	}
	for _, change := range with {
		change(&resource)
	}
	return &gardencorev1beta1.ControllerRegistration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       gardencorev1beta1.ControllerRegistrationSpec{Resources: []gardencorev1beta1.ControllerResource{resource}},
	}
}

// AlphasNamespace is the control-plane namespace of shoot alpha.
func AlphasNamespace(labels, annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shoot--p--alpha", Labels: labels, Annotations: annotations,
	}}
}

// Meanwhile lets somebody else change the namespace before each of the first writes to it, and counts all writes.
func Meanwhile(writes *int, changes ...func(*corev1.Namespace)) interceptor.Funcs {
	return interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, object client.Object,
		patch client.Patch, options ...client.PatchOption) error {
		if _, is := object.(*corev1.Namespace); is {
			if *writes < len(changes) {
				now := &corev1.Namespace{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(object), now); err != nil {
					return err
				}
				changes[*writes](now)
				if err := c.Update(ctx, now); err != nil {
					return err
				}
			}
			*writes++
		}
		return c.Patch(ctx, object, patch, options...)
	}}
}

// OneShoot is the API server of the only shoot there is.
type OneShoot struct{ client.Client }

// For implements scope.ShootClients.
func (s OneShoot) For(string, []byte, string) (client.Client, error) { return s.Client, nil }
