package extensions

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// Its extension's error is reported, as of any deletion.
func TestAStaleExtensionIsAwaited(t *testing.T) {
	t.Parallel()
	stale := &extensionsv1alpha1.Extension{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: "dns",
		Finalizers: []string{"stays"}}}
	o := NewExtensions(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{}, stale))
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	seed := o.Seed.(client.WithWatch)
	o.Seed = interceptor.NewClient(seed,
		interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			opts ...client.GetOption) error {
			if looks++; looks == 5 {
				cancel()
			}
			return c.Get(ctx, key, object, opts...)
		}})
	if err := o.DeleteStale(ctx); err == nil {
		t.Error("it did not wait for the extension's finalizer")
	}
}
