package secrets

import (
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
		"gardener-resource-manager",
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
