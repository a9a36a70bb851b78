// Package objects applies and deletes objects of any kind, and names them. It knows no kind.
package objects

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/patch"
)

// FieldOwner is the name under which the gardenlet applies its objects in the seed.
const FieldOwner = client.FieldOwner("gardenlet")

// Apply brings an object of the seed to the given shape by server-side apply: what others set beside it stays.
func Apply(ctx context.Context, c client.Client, object client.Object) error {
	//nolint:staticcheck // typed objects are the shape here; apply configurations would say the same thing twice
	return patch.Describe("apply", object, c, c.Patch(ctx, object, client.Apply, FieldOwner, client.ForceOwnership))
}

// Remove deletes an object; that it is gone already is fine.
func Remove(ctx context.Context, c client.Client, object client.Object, options ...client.DeleteOption) error {
	return patch.Describe("delete", object, c, client.IgnoreNotFound(c.Delete(ctx, object, options...)))
}

// Read reads an object as if for the first time: a client leaves in an object what its answer does not have.
func Read(ctx context.Context, from client.Reader, object client.Object) error {
	key := client.ObjectKeyFromObject(object)
	reflect.ValueOf(object).Elem().SetZero()
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return from.Get(ctx, key, object)
}

// Gone returns nil when the object does not exist, else an error that says so.
func Gone(ctx context.Context, c client.Client, object client.Object) error {
	return GoneFrom(ctx, c, c.Scheme(), object)
}

// GoneFrom is Gone by what a reader says.
func GoneFrom(ctx context.Context, from client.Reader, scheme *runtime.Scheme, object client.Object) error {
	switch err := Read(ctx, from, object); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", Name(object, scheme), err)
	}
	return fmt.Errorf("%s still exists, finalizers %q", Name(object, scheme), object.GetFinalizers())
}

// Name is how errors name an object: by its kind and its key.
func Name(object client.Object, scheme *runtime.Scheme) string {
	return fmt.Sprintf("%s %q", KindOf(object, scheme), client.ObjectKeyFromObject(object))
}

// KindOf is the kind of an object.
func KindOf(object runtime.Object, scheme *runtime.Scheme) string {
	kinds, _, err := scheme.ObjectKinds(object)
	if err != nil || len(kinds) == 0 {
		return fmt.Sprintf("%T", object)
	}
	return kinds[0].Kind
}

// Meta is the metadata of an object.
func Meta(object client.Object) *metav1.ObjectMeta {
	return object.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// ConflictBackoff is for patches of a status that others write too: about two seconds.
var ConflictBackoff = wait.Backoff{Steps: 9, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.2}

// ApplyCopy makes a copy anew that cannot be changed into what it shall be: the type of a Secret stays as it is.
func ApplyCopy(ctx context.Context, c client.Client, copied client.Object) error {
	err := Apply(ctx, c, copied)
	if !apierrors.IsInvalid(err) {
		return err
	}
	if err := Remove(ctx, c, copied); err != nil {
		return err
	}
	return Apply(ctx, c, copied)
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
	return applyRole(ctx, c, meta, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"},
		ResourceNames: []string{secret.Name}, Verbs: []string{"get", "patch"}}}, accounts...)
}

// ApplyAccount lets a ServiceAccount of a namespace do in it what the rules say. Account, role and binding have one
// name.
func ApplyAccount(ctx context.Context, c client.Client, meta metav1.ObjectMeta, rules []rbacv1.PolicyRule) error {
	account := &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta,
	}
	if err := Apply(ctx, c, account); err != nil {
		return err
	}
	return applyRole(ctx, c, meta, rules, meta.Namespace+"/"+meta.Name)
}

// applyRole makes a role, and gives it to accounts (namespace/name).
func applyRole(ctx context.Context, c client.Client, meta metav1.ObjectMeta, rules []rbacv1.PolicyRule,
	accounts ...string) error {
	role := &rbacv1.Role{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: meta,
		Rules: rules,
	}
	if err := Apply(ctx, c, role); err != nil {
		return err
	}
	return Apply(ctx, c, RoleBinding(meta, "Role", accounts...))
}

// RoleBinding gives accounts (namespace/name) the role of the same name.
func RoleBinding(meta metav1.ObjectMeta, kind string, accounts ...string) *rbacv1.RoleBinding {
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
