package kubeapiserver

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
)

// The API server reads its certificate for the tunnel only at its start: where nodes run pods, it is started anew when
// the certificate is renewed, half a year before the old one ends, and at no other time.
func TestDeploy_CertificateForTheTunnel_IsRenewed_StartsAnew(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for nodes, anew := range map[string]bool{"real": true, "": false} {
		service := func(name string) *corev1.Service {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name},
				Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}}
		}
		s := controlplanetest.Scope(t, "Reconcile", interceptor.Funcs{}, service("etcd-main-client"),
			service("kube-apiserver"), service("vpn-seed-server"))
		clock := testingclock.NewFakeClock(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
		s.Clock = clock
		s.Shoot.Annotations = map[string]string{"transplant.dev/nodes": nodes}
		s.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
		templates := []corev1.PodTemplateSpec{}
		for _, later := range []time.Duration{0, 100 * day, 83 * day, day} {
			clock.Step(later)
			if err := (&secrets.Secrets{Scope: s}).Initialize(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := New(s).Deploy(t.Context()); err != nil {
				t.Fatal(err)
			}
			deployed := &appsv1.Deployment{}
			if err := s.Seed.Get(t.Context(), s.Key("kube-apiserver"), deployed); err != nil {
				t.Fatal(err)
			}
			templates = append(templates, deployed.Spec.Template)
		}
		const hash = "transplant.dev/read-at-start"
		for i, want := range []bool{false, anew, false} {
			before, after := templates[i].Annotations[hash], templates[i+1].Annotations[hash]
			if got := before != after; got != want || (before != "") != anew {
				t.Errorf("nodes %q, step %d: hash %q, then %q; started anew: %t, want %t", nodes, i+1, before, after, got, want)
			}
		}
	}
}
