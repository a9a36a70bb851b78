package contract

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// A flow asks anew in each run. A reconciler, which is woken by what it writes, does not.
func TestClient_AskedForAlready_OnlyFlowsAskAgain(t *testing.T) {
	t.Parallel()
	settled := func(*extensionsv1alpha1.Infrastructure) {}
	pending := func(o *extensionsv1alpha1.Infrastructure) {
		o.Annotations = map[string]string{"gardener.cloud/operation": "migrate", "gardener.cloud/timestamp": "of before"}
	}
	dying := func(o *extensionsv1alpha1.Infrastructure) {
		o.DeletionTimestamp, o.Finalizers = &metav1.Time{Time: time.Unix(900, 0)}, []string{"extension"}
	}
	released := func(o *extensionsv1alpha1.Infrastructure) {
		o.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Migrate", State: "Succeeded",
			LastUpdateTime: metav1.NewTime(time.Unix(900, 0))}
	}
	for name, c := range map[string]struct {
		is   func(*extensionsv1alpha1.Infrastructure)
		do   func(Client, context.Context, extensionsv1alpha1.Object) error
		want string // writes, and the object's operation and whether it has a new timestamp
	}{
		"request again":          {pending, request("migrate"), "patch: migrate, stamped"},
		"delete again":           {dying, Client.Delete, "patch delete: stamped"},
		"release once, at first": {settled, Client.ReleaseOnce, "patch: migrate, stamped"},
		"release once, again":    {pending, Client.ReleaseOnce, ": migrate"},
		"release once, released": {released, Client.ReleaseOnce, "patch delete: "},
		"delete once, again":     {dying, Client.DeleteOnce, ": "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := controlplanetest.Infrastructure()
			c.is(object)
			var writes []string
			seed := controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeMigrate, interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
					opts ...client.PatchOption) error {
					writes = append(writes, "patch")
					return c.Patch(ctx, object, patch, opts...)
				},
				Delete: func(ctx context.Context, c client.WithWatch, object client.Object,
					opts ...client.DeleteOption) error {
					writes = append(writes, "delete")
					return c.Delete(ctx, object, opts...)
				},
			}, object).Seed
			if err := seed.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Fatal(err)
			}
			asks := Client{Seed: seed, Clock: testingclock.NewFakePassiveClock(time.Unix(1000, 0))}
			if err := c.do(asks, t.Context(), object); err != nil {
				t.Fatal(err)
			}
			var has []string
			if operation := object.Annotations["gardener.cloud/operation"]; operation != "" {
				has = append(has, operation)
			}
			if object.Annotations["gardener.cloud/timestamp"] == "1970-01-01T00:16:40Z" {
				has = append(has, "stamped")
			}
			if got := strings.Join(writes, " ") + ": " + strings.Join(has, ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			confirmed := object.Annotations["confirmation.gardener.cloud/deletion"] == "true"
			if deleted := strings.Contains(c.want, "delete"); confirmed != deleted {
				t.Errorf("its deletion is confirmed: %t, want %t", confirmed, deleted)
			}
		})
	}
}

func request(operation string) func(Client, context.Context, extensionsv1alpha1.Object) error {
	return func(c Client, ctx context.Context, object extensionsv1alpha1.Object) error {
		return c.Request(ctx, object, operation)
	}
}
