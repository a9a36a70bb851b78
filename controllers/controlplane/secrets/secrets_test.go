package secrets

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// Whatever is persisted moves with the shoot; all else is derived anew on every seed. The list is that of GEP-7, with
// the names of today (etcd-encryption-secret has become kube-apiserver-etcd-encryption-key), and the certificate
// authorities of today beside it (docs/specification/migration.md#spec-2-8). The password file
// kube-apiserver-basic-auth of GEP-7 is no more: API servers know no basic authentication.
func TestWhichSecretsArePersisted(t *testing.T) {
	t.Parallel()
	persisted := []string{
		// GEP-7
		"ca", "ca-front-proxy", "static-token", "ca-kubelet", "ca-metrics-server", "kube-apiserver-etcd-encryption-key",
		"kube-aggregator", "kube-apiserver", "service-account-key", "ssh-keypair",
		// today
		"ca-client", "ca-etcd",
	}
	derived := []string{
		"etcd-server", "etcd-client", "kube-controller-manager", "kube-scheduler", "machine-controller",
		"gardener-resource-manager", "gardener", "gardener-internal", "generic-token-kubeconfig",
		"guard-client-extensions", "guard-client-gateway", "guard-client-machine-controller", "guard-client-observer",
	}
	service := func(name string) *corev1.Service {
		s := &corev1.Service{}
		s.Namespace, s.Name, s.Spec.ClusterIP = "shoot--p--alpha", name, "10.0.0.1"
		return s
	}
	o := &Secrets{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{},
		service(workload.ServiceEtcdClient),
		service(workload.ServiceKubeAPIServer))}
	o.Clock = testingclock.NewFakeClock(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	if err := o.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	secrets := &corev1.SecretList{}
	if err := o.Seed.List(t.Context(), secrets, client.InNamespace("shoot--p--alpha")); err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, name := range persisted {
		want[name] = "true"
	}
	for _, name := range derived {
		want[name] = ""
	}
	for _, secret := range secrets.Items {
		got[secret.Name] = secret.Labels["persist"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("label persist of each secret (-want +got):\n%s", diff)
	}

	// A restore without them says which ones are missing.
	o.State = &shootstate.State{}
	var missing []string
	for _, name := range slices.Sorted(slices.Values(persisted)) {
		missing = append(missing, `the secret "`+name+`" in the ShootState`)
	}
	if diff := cmp.Diff(missing, slices.Sorted(slices.Values(Missing(o.State)))); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// A list says which secrets there are. Nobody asks for each before it is made, nor after.
func TestInitialize_SecretsOfAControlPlane_AreReadAtOnce(t *testing.T) {
	t.Parallel()
	requests := map[string]int{}
	o := &Secrets{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			if _, service := object.(*corev1.Service); service {
				requests["get service"]++
				object.SetName(key.Name)
				return nil
			}
			requests["get"]++
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			requests["list"]++
			return c.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			requests["create"]++
			return c.Create(ctx, object, options...)
		},
	})}
	o.Clock = testingclock.NewFakeClock(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	for _, want := range []map[string]int{
		{"list": 1, "create": 25, "get service": 2},
		{"list": 2, "create": 25, "get service": 2}, // all are there
	} {
		if err := o.Initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{CA, StaticToken, SSHKeyPair} {
			if data, err := o.Data(t.Context(), name); err != nil || len(data) == 0 {
				t.Errorf("%s has %d keys: %v", name, len(data), err)
			}
		}
		if diff := cmp.Diff(want, requests); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
}

// A list that is older than the secrets, as one may be that a cache of the API server answers, changes none of them.
func TestInitialize_ListThatIsOlder_ChangesNoSecret(t *testing.T) {
	t.Parallel()
	stale := false
	o := &Secrets{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			if _, service := object.(*corev1.Service); service {
				return nil
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if stale {
				return nil
			}
			return c.List(ctx, list, options...)
		},
	})}
	o.Clock = testingclock.NewFakeClock(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	var kept []map[string]*corev1.Secret
	for range 2 {
		if err := o.Initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
		stale = false
		there, err := o.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept, stale = append(kept, there), true
	}
	if diff := cmp.Diff(kept[0], kept[1]); diff != "" || len(kept[0]) != 25 {
		t.Errorf("of %d secrets (-before +after):\n%s", len(kept[0]), diff)
	}
}
