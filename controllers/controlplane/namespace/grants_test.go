package namespace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
)

// Before there is any object for an extension in a control-plane namespace, the extension may work there.
func TestDeployNamespace_OfASeedWithExtensions_BindsTheirRoles(t *testing.T) {
	t.Parallel()
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{}))
	o.SeedObject = controlplanetest.SeedA()
	o.ExtensionRoles = map[string]string{"of-provider": "extensions/provider", "of-acme": "acme/acme"}
	if err := o.Deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]rbacv1.Subject{
		"of-provider": {Kind: "ServiceAccount", Namespace: "extensions", Name: "provider"},
		"of-acme":     {Kind: "ServiceAccount", Namespace: "acme", Name: "acme"},
	} {
		binding := &rbacv1.RoleBinding{}
		if err := o.Seed.Get(t.Context(), client.ObjectKey{Namespace: o.Namespace(), Name: role}, binding); err != nil {
			t.Fatal(err)
		}
		ref := rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role}
		if diff := cmp.Diff([]rbacv1.Subject{want}, binding.Subjects) + cmp.Diff(ref, binding.RoleRef); diff != "" {
			t.Errorf("%s (-want +got):\n%s", role, diff)
		}
	}
}

// A grant is about one Secret, and goes with it.
func TestGrantSecret_OfASecret_BelongsToIt(t *testing.T) {
	t.Parallel()
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{}))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "entry-e", UID: "uid-of-secret"}}
	if err := objects.GrantSecret(t.Context(), o.Seed, secret, "extensions/provider"); err != nil {
		t.Fatal(err)
	}
	role, binding := &rbacv1.Role{}, &rbacv1.RoleBinding{}
	for _, object := range []client.Object{role, binding} {
		if err := o.Seed.Get(t.Context(), client.ObjectKeyFromObject(secret), object); err != nil {
			t.Fatal(err)
		}
		if owners := object.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != "uid-of-secret" ||
			owners[0].Kind != "Secret" || owners[0].Name != "entry-e" {
			t.Errorf("%T belongs to %+v", object, owners)
		}
	}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"},
		ResourceNames: []string{"entry-e"}, Verbs: []string{"get", "patch"}}}
	if diff := cmp.Diff(rules, role.Rules); diff != "" || binding.RoleRef.Name != "entry-e" || len(binding.Subjects) != 1 {
		t.Errorf("%+v have (-want +got):\n%s", binding.Subjects, diff)
	}
}
