package controlplane

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// grantExtensions binds the roles of the seed's extensions in the control-plane namespace, before there is an object
// for them. The bindings end with the namespace, which outlives those objects (docs/adr/0017).
func (o *Operation) grantExtensions(ctx context.Context) error {
	for _, role := range slices.Sorted(maps.Keys(o.ExtensionRoles)) {
		if err := Apply(ctx, o.Seed, roleBinding(o.meta(role), "ClusterRole", o.ExtensionRoles[role])); err != nil {
			return err
		}
	}
	return nil
}

// GrantSecret lets accounts (namespace/name) read one Secret and hold it with a finalizer. The secret is as the API
// server has it: role and binding have its name, belong to it, and go with it.
func GrantSecret(ctx context.Context, c client.Client, secret *corev1.Secret, accounts ...string) error {
	if len(accounts) == 0 {
		return nil
	}
	meta := metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Secret", Name: secret.Name, UID: secret.UID},
	}}
	for _, object := range []client.Object{
		&rbacv1.Role{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"},
				ResourceNames: []string{secret.Name}, Verbs: []string{"get", "patch"}}},
		},
		roleBinding(meta, "Role", accounts...),
	} {
		if err := Apply(ctx, c, object); err != nil {
			return err
		}
	}
	return nil
}

// roleBinding gives accounts (namespace/name) the role of the same name.
func roleBinding(meta metav1.ObjectMeta, kind string, accounts ...string) *rbacv1.RoleBinding {
	binding := &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: meta,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: meta.Name},
	}
	for _, account := range accounts {
		namespace, name, _ := strings.Cut(account, "/")
		binding.Subjects = append(binding.Subjects,
			rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name})
	}
	return binding
}
