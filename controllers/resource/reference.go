package resource

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// reference is how the status names an object.
func reference(object *unstructured.Unstructured) resourcesv1alpha1.ObjectReference {
	return resourcesv1alpha1.ObjectReference{
		ObjectReference: corev1.ObjectReference{
			APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		},
		Labels: object.GetLabels(), Annotations: object.GetAnnotations(),
	}
}

func references(objects []*unstructured.Unstructured) []resourcesv1alpha1.ObjectReference {
	refs := make([]resourcesv1alpha1.ObjectReference, 0, len(objects))
	for _, object := range objects {
		refs = append(refs, reference(object))
	}
	return sorted(refs)
}

func sorted(refs []resourcesv1alpha1.ObjectReference) []resourcesv1alpha1.ObjectReference {
	slices.SortFunc(refs, func(a, b resourcesv1alpha1.ObjectReference) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return refs
}

// objectOf is an object with the identity of a reference alone.
func objectOf(ref resourcesv1alpha1.ObjectReference) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(ref.APIVersion)
	object.SetKind(ref.Kind)
	object.SetNamespace(ref.Namespace)
	object.SetName(ref.Name)
	return object
}

// describe names an object for people.
func describe(object *unstructured.Unstructured) string {
	name := object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetNamespace() + "/" + name
	}
	return fmt.Sprintf("%s %s %q", object.GetAPIVersion(), object.GetKind(), name)
}

// identity is what makes two references the same object: its version is not part of it.
type identity struct {
	schema.GroupKind
	namespace, name string
}

// equivalences maps kinds onto one of those they are equivalent to.
type equivalences map[schema.GroupKind]schema.GroupKind

func equivalencesOf(managed *resourcesv1alpha1.ManagedResource) equivalences {
	same := equivalences{}
	for _, set := range managed.Spec.Equivalences {
		for _, kind := range set {
			same[schema.GroupKind(kind)] = schema.GroupKind(set[0])
		}
	}
	return same
}

func (e equivalences) identity(ref resourcesv1alpha1.ObjectReference) identity {
	kind := ref.GroupVersionKind().GroupKind()
	if canonical, found := e[kind]; found {
		kind = canonical
	}
	return identity{GroupKind: kind, namespace: ref.Namespace, name: ref.Name}
}

// without are those of refs that are not among others.
func (e equivalences) without(refs, others []resourcesv1alpha1.ObjectReference) []resourcesv1alpha1.ObjectReference {
	among := make(map[identity]bool, len(others))
	for _, other := range others {
		among[e.identity(other)] = true
	}
	return slices.DeleteFunc(slices.Clone(refs), func(ref resourcesv1alpha1.ObjectReference) bool {
		return among[e.identity(ref)]
	})
}

// rank orders kinds so that others find what they need: definitions and namespaces first.
func rank(object *unstructured.Unstructured) int {
	order := []string{"CustomResourceDefinition", "Namespace", "PriorityClass", "StorageClass", "ServiceAccount", "Secret",
		"ConfigMap",
		"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "PersistentVolume", "PersistentVolumeClaim", "Service"}
	if i := slices.Index(order, object.GetKind()); i >= 0 {
		return i
	}
	return len(order)
}

func byRank(objects []*unstructured.Unstructured) {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
}

// merged has the entries of both maps; those of the second win.
func merged(one, two map[string]string) map[string]string {
	all := make(map[string]string, len(one)+len(two))
	maps.Copy(all, one)
	maps.Copy(all, two)
	return all
}
