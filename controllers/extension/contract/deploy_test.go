package contract

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// What belongs to an object is created without a look in the first attempt, and is the same whatever was there.
func TestDeploy_FirstAttempt_CreatesWithoutLooking(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		operation, description string
		there                  bool
		want                   []string
	}{
		"first": {operation: "Restore", description: "Started restoration.", want: []string{"create"}},
		"first, and is there": {operation: "Create", description: "Started creation.", there: true,
			want: []string{"create", "get", "patch"}},
		"waits": {operation: "Restore", description: "Waiting for x.", there: true, want: []string{"get", "patch"}},
		"again": {operation: "Reconcile", description: "Started reconciliation.", want: []string{"get", "create"}},
		"change": {operation: "Reconcile", description: "Started reconciliation.", there: true,
			want: []string{"get", "patch"}},
	} {
		var calls []string
		seed, _ := fakeSeed(t)
		if test.there {
			seed, _ = fakeSeed(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"},
				Data: map[string]string{"others": "kept"}})
		}
		counted := interceptor.NewClient(seed, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
				options ...client.GetOption) error {
				calls = append(calls, "get")
				return c.Get(ctx, key, o, options...)
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
				calls = append(calls, "create")
				return c.Create(ctx, o, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
				options ...client.PatchOption) error {
				calls = append(calls, "patch")
				return c.Patch(ctx, o, p, options...)
			},
		})
		by := object("", test.operation, "Processing", false)
		by.Status.LastOperation.Description = test.description
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
		err := Deploy(t.Context(), counted, by, made, func(c *corev1.ConfigMap) {
			metav1.SetMetaDataLabel(&c.ObjectMeta, "made", "true")
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, calls); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", name, diff)
		}
		if err := seed.Get(t.Context(), client.ObjectKeyFromObject(made), made); err != nil ||
			made.Labels["made"] != "true" || test.there != (made.Data["others"] == "kept") {
			t.Errorf("%s: there is %+v, %v", name, made, err)
		}
	}
}
