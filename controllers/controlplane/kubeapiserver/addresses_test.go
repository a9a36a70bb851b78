package kubeapiserver

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// The address of a Service never changes: who has applied the Service, or has read it once, knows it.
func TestClusterIP_IsReadOnce(t *testing.T) {
	t.Parallel()
	const name, address = "etcd-main-client", "10.0.0.7"
	for test, c := range map[string]struct {
		deploys bool
		reads   int
	}{"the run has deployed it": {true, 0}, "it was there": {false, 1}} {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			reads := 0
			s := controlplanetest.Scope(t, "Restore", interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
					options ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, object, options...)
				},
				Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch,
					_ ...client.PatchOption) error {
					object.(*corev1.Service).Spec.ClusterIP = address
					return nil
				},
			}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name},
				Spec: corev1.ServiceSpec{ClusterIP: address}})
			if c.deploys {
				if err := New(s).DeployServices(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if got, err := workload.ClusterIP(t.Context(), s, name); err != nil || got != address {
					t.Errorf("the address is %q, %v", got, err)
				}
			}
			if reads != c.reads {
				t.Errorf("%d reads, want %d", reads, c.reads)
			}
		})
	}
}
