package etcd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// The pod of an epoch that is over is never ready again. In the order of their readiness, which is the default, the
// StatefulSet's controller would wait for it before it made that of the next epoch, and nobody could abort a migration
// (docs/ownership.md#o11).
func TestAnEtcdThatIsNeverReadyDoesNotStandInTheWayOfTheNextEpoch(t *testing.T) {
	t.Parallel()
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeRestore, interceptor.Funcs{},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha",
			Annotations: map[string]string{"transplant.dev/epoch": "4"}}}))
	o.Epoch, o.SeedObject = 4, &gardencorev1beta1.Seed{}
	phase := func() tenure.Phase {
		t.Helper()
		namespace, err := o.ReadNamespace(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		here, err := tenure.Of(namespace, nil)
		if err != nil {
			t.Fatal(err)
		}
		return here.Phase
	}
	if got := phase(); got != tenure.Claimed {
		t.Errorf("before there is any etcd, it is %s", got)
	}
	o.Shoot.Spec.Hibernation, o.Shoot.Status.IsHibernated = &gardencorev1beta1.Hibernation{Enabled: ptr.To(true)}, true
	if err := o.Deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := phase(); got != tenure.Deployed {
		t.Errorf("its etcd sleeps, and it is %s", got)
	}
	o.Shoot.Status.IsHibernated = false
	if err := o.Deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := phase(); got != tenure.Begun {
		t.Errorf("with its etcd, the epoch is %s", got)
	}
	set := &appsv1.StatefulSet{}
	if err := o.Seed.Get(t.Context(), o.Key("etcd-main"), set); err != nil {
		t.Fatal(err)
	}
	if set.Spec.PodManagementPolicy != "Parallel" {
		t.Errorf("its pods are managed by the policy %q", set.Spec.PodManagementPolicy)
	}
}

// Whatever listens in etcd's pod asks for a certificate of the shoot's etcd CA, but for probes and metrics, and but for
// a unix socket that is in the pod alone.
func TestDeployEtcd_Listeners_AreKnown(t *testing.T) {
	t.Parallel()
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}))
	o.Epoch, o.SeedObject = 1, &gardencorev1beta1.Seed{}
	if err := o.Deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	set := &appsv1.StatefulSet{}
	if err := o.Seed.Get(t.Context(), o.Key("etcd-main"), set); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, container := range set.Spec.Template.Spec.Containers {
		for _, arg := range container.Command {
			if strings.Contains(arg, "listen") || strings.HasPrefix(arg, "--peer-client-cert-auth") || strings.HasPrefix(arg,
				"--peer-cert-allowed") {
				got[container.Name] = append(got[container.Name], arg)
			}
		}
	}
	want := map[string][]string{
		"etcd": {
			"--listen-client-urls=unix:///var/etcd/run/etcd.sock", "--listen-peer-urls=https://$(POD_IP):2380",
			"--peer-client-cert-auth", "--peer-cert-allowed-cn=etcd-main",
		},
		"backup": {"--listen=$(POD_IP):8080", "--api-listen=$(POD_IP):8081"},
		"guard":  {"--listen=$(POD_IP):2379", "--http-listen=$(POD_IP):2381", "--api-listen=$(POD_IP):2382"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what listens (-want +got):\n%s", diff)
	}
}
