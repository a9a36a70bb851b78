package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// The pod of an epoch that is over is never ready again. In the order of their readiness, which is the default, the
// StatefulSet's controller would wait for it before it made that of the next epoch, and nobody could abort a migration
// (docs/ownership.md#o11).
func TestAnEtcdThatIsNeverReadyDoesNotStandInTheWayOfTheNextEpoch(t *testing.T) {
	t.Parallel()
	o := newOperation(t, gardencorev1beta1.LastOperationTypeRestore, interceptor.Funcs{},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha",
			Annotations: map[string]string{"transplant.dev/epoch": "4"}}})
	o.Epoch, o.SeedObject = 4, &gardencorev1beta1.Seed{}
	begun := func() bool {
		t.Helper()
		begun, err := o.EpochBegun(t.Context(), 4)
		if err != nil {
			t.Fatal(err)
		}
		return begun
	}
	if begun() {
		t.Error("before there is any etcd, it has begun")
	}
	if err := o.DeployEtcd(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if begun() {
		t.Error("it has begun, and its etcd sleeps")
	}
	if err := o.DeployEtcd(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if !begun() {
		t.Error("with its etcd, the epoch has not begun")
	}
	set := &appsv1.StatefulSet{}
	if err := o.Seed.Get(t.Context(), o.key("etcd-main"), set); err != nil {
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
	o := newOperation(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}})
	o.Epoch, o.SeedObject = 1, &gardencorev1beta1.Seed{}
	if err := o.DeployEtcd(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	set := &appsv1.StatefulSet{}
	if err := o.Seed.Get(t.Context(), o.key("etcd-main"), set); err != nil {
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

// Whether an epoch has begun is known when its etcd is gone, too: there may be what no backup has.
func TestAnEpochHasBegunWithItsEtcd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		etcd, noted string // epochs; empty for none
		asleep, api bool
		want        bool
	}{
		"its etcd is there":                   {etcd: "4", want: true},
		"that of an epoch after it is there":  {etcd: "5", want: true},
		"asleep, and nobody can wake it":      {etcd: "4", asleep: true},
		"asleep, with its API server":         {etcd: "4", asleep: true, api: true, want: true},
		"asleep, and was awake":               {etcd: "4", asleep: true, noted: "4", want: true},
		"asleep since the epoch before":       {etcd: "3", asleep: true, noted: "3", api: true},
		"it was there":                        {noted: "4", want: true},
		"none was ever there":                 {},
		"that of the epoch before is there":   {etcd: "3", noted: "3"},
		"that of the epoch before, and noted": {etcd: "3", noted: "4", want: true},
	} {
		var onSeed []client.Object
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha",
			Annotations: map[string]string{"transplant.dev/epoch": "4"}}}
		if c.noted != "" {
			namespace.Annotations["transplant.dev/begun-epoch"] = c.noted
		}
		onSeed = append(onSeed, namespace)
		if c.etcd != "" {
			etcd := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace.Name, Name: "etcd-main", Annotations: map[string]string{"transplant.dev/epoch": c.etcd},
			}}
			if c.asleep {
				etcd.Spec.Replicas = ptr.To[int32](0)
			}
			onSeed = append(onSeed, etcd)
		}
		if c.api {
			onSeed = append(onSeed,
				&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "kube-apiserver"}})
		}
		o := newOperation(t, gardencorev1beta1.LastOperationTypeMigrate, interceptor.Funcs{}, onSeed...)
		if begun, err := o.EpochBegun(t.Context(), 4); err != nil || begun != c.want {
			t.Errorf("%s: %t, %v", name, begun, err)
		}
	}
	o := newOperation(t, gardencorev1beta1.LastOperationTypeMigrate, interceptor.Funcs{})
	if begun, err := o.EpochBegun(t.Context(), 0); err != nil || !begun {
		t.Errorf("without a namespace: %t, %v", begun, err)
	}
}
