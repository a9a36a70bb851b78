package shootaccess

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
)

// A shoot that leaves gets back the roles that its administrator has deleted. What its API server refuses, or that it
// does not answer, holds it up for a bounded time, and is no error.
func TestRepairShootAccess_RolesDeletedOrRefused_NeverHoldsUp(t *testing.T) {
	t.Parallel()
	refuse := errors.New("refused")
	missing := []string{"gardener.cloud:system:gardener", "transplant:gardener-resource-manager",
		"transplant:machine-controller", "transplant:nodes"}
	for name, test := range map[string]struct {
		secrets bool
		answer  func(context.Context, client.Object) error
		want    []string
	}{
		"deleted": {secrets: true, want: missing},
		"one is refused": {secrets: true, want: missing[1:], answer: func(_ context.Context, o client.Object) error {
			if o.GetName() == missing[0] {
				return refuse
			}
			return nil
		}},
		"no answer": {secrets: true, answer: func(ctx context.Context, _ client.Object) error {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Errorf("the wait has no bound")
			}
			return context.DeadlineExceeded
		}},
		"no secrets of an administrator": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var onSeed []client.Object
			if test.secrets {
				for _, secret := range []string{secrets.CA, secrets.StaticToken} {
					s := &corev1.Secret{}
					s.Namespace, s.Name = "shoot--p--alpha", secret
					onSeed = append(onSeed, s)
				}
			}
			o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeDelete, interceptor.Funcs{}, onSeed...))
			shoot := fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
					options ...client.PatchOption) error {
					if test.answer != nil {
						if err := test.answer(ctx, object); err != nil {
							return err
						}
					}
					return c.Patch(ctx, object, patch, options...)
				},
			}).Build()
			o.Shoots = controlplanetest.OneShoot{Client: shoot}
			if err := o.Repair(t.Context()); err != nil {
				t.Fatal(err)
			}
			bindings := &rbacv1.ClusterRoleBindingList{}
			if err := shoot.List(t.Context(), bindings); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range bindings.Items {
				got = append(got, b.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("bindings (-want +got):\n%s", diff)
			}
		})
	}
}
