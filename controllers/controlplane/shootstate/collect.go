package shootstate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// Collect reads the state of the control plane in a namespace of a seed (docs/specification/migration.md#spec-2-8).
// Cluster-scoped kinds are read by name: backupEntry is that of the shoot. A referenced object that does not exist is
// an error, never an empty entry (docs/specification/quirks.md#quirk-s1).
func Collect(ctx context.Context, seed client.Reader, namespace, backupEntry string) (*State, error) {
	epoch, err := epochOf(ctx, seed, namespace)
	if err != nil {
		return nil, err
	}
	state := &State{Epoch: epoch}
	if err := state.collectSecrets(ctx, seed, namespace); err != nil {
		return nil, err
	}
	for _, kind := range extensionsv1alpha1.Kinds() {
		if !kind.Stateful {
			continue
		}
		objects, err := listKind(ctx, seed, kind, namespace, backupEntry)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if err := state.collectExtension(ctx, seed, kind.Name, namespace, object); err != nil {
				return nil, err
			}
		}
	}
	machines, err := CollectMachines(ctx, seed, namespace)
	state.Machines = machines
	return state, err
}

// epochOf is the epoch that the seed acts in, zero if its namespace says nothing.
func epochOf(ctx context.Context, seed client.Reader, name string) (int64, error) {
	namespace := &corev1.Namespace{}
	if err := seed.Get(ctx, client.ObjectKey{Name: name}, namespace); client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("read namespace %q: %w", name, err)
	}
	return parseEpoch(namespace)
}

func parseEpoch(object client.Object) (int64, error) {
	text, given := object.GetAnnotations()[constants.OwnershipEpoch]
	if !given {
		return 0, nil
	}
	epoch, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse annotation %s of %q: %w", constants.OwnershipEpoch, object.GetName(), err)
	}
	return epoch, nil
}

func (s *State) collectSecrets(ctx context.Context, seed client.Reader, namespace string) error {
	secrets := &corev1.SecretList{}
	if err := seed.List(ctx, secrets, client.InNamespace(namespace),
		client.MatchingLabels{constants.Persist: constants.LabelTrue}); err != nil {
		return fmt.Errorf("list the persisted secrets in %q: %w", namespace, err)
	}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		s.Secrets = append(s.Secrets, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: secret.Name, Labels: secret.Labels},
			Data:       secret.Data, Immutable: secret.Immutable, Type: secret.Type,
		})
	}
	slices.SortFunc(s.Secrets, func(a, b *corev1.Secret) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func listKind(ctx context.Context, seed client.Reader, kind extensionsv1alpha1.Kind, namespace,
	backupEntry string) ([]extensionsv1alpha1.Object, error) {
	if !kind.Namespaced {
		object := kind.New()
		err := seed.Get(ctx, client.ObjectKey{Name: backupEntry}, object)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s %q: %w", kind.Name, backupEntry, err)
		}
		return []extensionsv1alpha1.Object{object}, nil
	}
	list := kind.NewList()
	if err := seed.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list %s in %q: %w", kind.Name, namespace, err)
	}
	objects := list.Objects()
	slices.SortFunc(objects, func(a, b extensionsv1alpha1.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return objects, nil
}

// collectExtension skips objects that are being deleted and those without state
// (docs/specification/migration.md#spec-2-8). The Worker's state is the machine state, which it carries only while it
// is being restored.
func (s *State) collectExtension(ctx context.Context, seed client.Reader, kind, namespace string,
	object extensionsv1alpha1.Object) error {
	status := object.GetExtensionStatus()
	state, resources := status.GetState(), status.GetResources()
	if object.GetDeletionTimestamp() != nil || (state == nil && len(resources) == 0) ||
		kind == extensionsv1alpha1.WorkerResource {
		return nil
	}
	entry := ExtensionState{
		Kind: kind, Name: object.GetName(), Purpose: ptr.Deref(object.GetExtensionSpec().GetExtensionPurpose(), ""),
		State: state, Resources: resources,
	}
	for _, resource := range resources {
		referenced, err := readReferenced(ctx, seed, namespace, resource)
		if err != nil {
			return fmt.Errorf("%s %q: %w", kind, object.GetName(), err)
		}
		entry.Objects = append(entry.Objects, referenced)
	}
	s.Extensions = append(s.Extensions, entry)
	return nil
}

func readReferenced(ctx context.Context, seed client.Reader, namespace string,
	resource gardencorev1beta1.NamedResourceReference) (*unstructured.Unstructured, error) {
	reference := resource.ResourceRef
	group, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("parse the apiVersion of resource %q: %w", resource.Name, err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(group.WithKind(reference.Kind))
	if err := seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: reference.Name}, object); err != nil {
		return nil, fmt.Errorf("read resource %q, %s %q: %w", resource.Name, reference.Kind, reference.Name, err)
	}
	return withoutSystemMetadata(object), nil
}

// withoutSystemMetadata leaves name, labels and annotations: what the API server of the next seed cannot make anew.
func withoutSystemMetadata(object *unstructured.Unstructured) *unstructured.Unstructured {
	clean := object.DeepCopy()
	clean.Object["metadata"] = map[string]any{"name": object.GetName()}
	if labels := object.GetLabels(); len(labels) > 0 {
		clean.SetLabels(labels)
	}
	if annotations := object.GetAnnotations(); len(annotations) > 0 {
		clean.SetAnnotations(annotations)
	}
	return clean
}

// Merge puts the entries of newer over those of s: what newer no longer has stays
// (docs/specification/migration.md#spec-2-8, mode Migrate).
func (s *State) Merge(newer *State) {
	s.Epoch, s.Owner = newer.Epoch, newer.Owner
	for _, secret := range newer.Secrets {
		s.Secrets = upsert(s.Secrets, secret, func(a, b *corev1.Secret) bool { return a.Name == b.Name })
	}
	for _, extension := range newer.Extensions {
		s.Extensions = upsert(s.Extensions, extension, func(a, b ExtensionState) bool {
			return a.Kind == b.Kind && a.Name == b.Name && a.Purpose == b.Purpose
		})
	}
	if newer.Machines != nil {
		s.Machines = newer.Machines
	}
}

func upsert[T any](list []T, item T, same func(a, b T) bool) []T {
	if i := slices.IndexFunc(list, func(other T) bool { return same(other, item) }); i >= 0 {
		list[i] = item
		return list
	}
	return append(list, item)
}

// compactJSON is the canonical form: equal values give equal bytes, so that nothing is written when nothing changed.
func compactJSON(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	return data, nil
}
