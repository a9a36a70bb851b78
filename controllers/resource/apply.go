package resource

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// work is what is to be done about a ManagedResource's manifests.
type work struct {
	// wanted are the objects to apply, as they are to be in the shoot.
	wanted []*unstructured.Unstructured
	// released are objects of the manifests that are nobody's business any more.
	released []*unstructured.Unstructured
	// failures name the objects that cannot be applied.
	failures []error
}

// prepare makes of the manifests what is to be applied. An error means that nothing can be said: the shoot did not
// answer. Objects of a kind that the shoot does not know are failures: none of them can be there.
func (r *Reconciler) prepare(managed *resourcesv1alpha1.ManagedResource, objects []*unstructured.Unstructured) (*work,
	error) {
	w := &work{}
	labels := merged(managed.Spec.InjectLabels, map[string]string{resourcesv1alpha1.ManagedBy: managedByGardener})
	for _, object := range objects {
		namespaced, err := r.Target.IsObjectNamespaced(object)
		if meta.IsNoMatchError(err) {
			w.failures = append(w.failures, fmt.Errorf("apply %s: %w", describe(object), err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find out the scope of %s: %w", describe(object), err)
		}
		switch {
		case !namespaced:
			object.SetNamespace("")
		case object.GetNamespace() == "":
			object.SetNamespace(metav1.NamespaceDefault)
		}
		if object.GetAnnotations()[annotationMode] == modeIgnore {
			w.released = append(w.released, object)
			continue
		}
		if err := inject(object, labels); err != nil {
			w.failures = append(w.failures, fmt.Errorf("label %s: %w", describe(object), err))
			continue
		}
		w.wanted = append(w.wanted, object)
	}
	byRank(w.wanted)
	return w, nil
}

// apply applies the objects; one that fails does not stand in the way of the others.
func (r *Reconciler) apply(ctx context.Context, managed *resourcesv1alpha1.ManagedResource,
	objects []*unstructured.Unstructured) error {
	var failures []error
	for _, object := range objects {
		if err := r.applyObject(ctx, managed, object.DeepCopy()); err != nil {
			failures = append(failures, fmt.Errorf("apply %s: %w", describe(object), err))
		}
	}
	return errors.Join(failures...)
}

func (r *Reconciler) applyObject(ctx context.Context, managed *resourcesv1alpha1.ManagedResource,
	object *unstructured.Unstructured) error {
	ignored, preserve := isTrue(object.GetAnnotations(), resourcesv1alpha1.Ignore),
		isTrue(object.GetAnnotations(), annotationPreserveReplicas)
	if ignored || preserve {
		current, err := r.current(ctx, object)
		if err != nil || (current != nil && ignored) {
			return err
		}
		if current != nil {
			if err := keepReplicas(object, current); err != nil {
				return err
			}
		}
	}
	desired := object.DeepCopy()
	desired.SetAnnotations(merged(desired.GetAnnotations(), map[string]string{
		annotationOrigin: origin(managed), annotationDescription: description,
	}))
	applied := desired.DeepCopy()
	err := r.Target.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), r.owner(),
		client.ForceOwnership)
	if apierrors.IsInvalid(err) && replaceable(desired, err) {
		return r.replace(ctx, desired, err)
	}
	if err != nil {
		return err
	}
	return r.overwrite(ctx, managed, desired, applied)
}

// current reads an object of the shoot; it returns nil if there is none.
func (r *Reconciler) current(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured,
	error) {
	current := objectOf(reference(object))
	err := r.Target.Get(ctx, client.ObjectKeyFromObject(object), current)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	return current, err
}

func keepReplicas(object, current *unstructured.Unstructured) error {
	replicas, found, err := unstructured.NestedInt64(current.Object, "spec", "replicas")
	if err != nil || !found {
		return err
	}
	return unstructured.SetNestedField(object.Object, replicas, "spec", "replicas")
}

// immutableContent is how the API server refuses to change an immutable Secret or ConfigMap.
const immutableContent = "field is immutable when `immutable` is set"

// replaceable reports whether an object that does not take an update may be deleted and made anew.
func replaceable(object *unstructured.Unstructured, err error) bool {
	if isTrue(object.GetAnnotations(), annotationDeleteOnInvalidUpdate) {
		return true
	}
	if object.GetAPIVersion() != "v1" || (object.GetKind() != "ConfigMap" && object.GetKind() != "Secret") {
		return false
	}
	cause, found := apierrors.StatusCause(err, metav1.CauseType(field.ErrorTypeForbidden))
	return found && strings.Contains(cause.Message, immutableContent)
}

// replace deletes an object that does not take an update; the retry makes it anew.
func (r *Reconciler) replace(ctx context.Context, object *unstructured.Unstructured, invalid error) error {
	current, err := r.current(ctx, object)
	if err != nil || current == nil {
		return errors.Join(invalid, err)
	}
	if err := r.Target.Delete(ctx, current); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete it after an invalid update: %w", err)
	}
	return fmt.Errorf("deleted because it does not take the update: %w", invalid)
}

// overwrite takes off an object the labels and annotations that others have set, where the ManagedResource asks for it.
func (r *Reconciler) overwrite(ctx context.Context, managed *resourcesv1alpha1.ManagedResource, desired,
	applied *unstructured.Unstructured) error {
	cleared := applied.DeepCopy()
	if ptr.Deref(managed.Spec.ForceOverwriteLabels, false) {
		cleared.SetLabels(desired.GetLabels())
	}
	if ptr.Deref(managed.Spec.ForceOverwriteAnnotations, false) {
		cleared.SetAnnotations(desired.GetAnnotations())
	}
	return r.patchIfChanged(ctx, applied, cleared)
}

// release takes the marks of the ManagedResource off objects that it no longer looks after.
func (r *Reconciler) release(ctx context.Context, managed *resourcesv1alpha1.ManagedResource,
	objects []*unstructured.Unstructured) error {
	var failures []error
	for _, object := range objects {
		current, err := r.current(ctx, object)
		if err == nil && current != nil && current.GetAnnotations()[annotationOrigin] == origin(managed) {
			released := current.DeepCopy()
			annotations := released.GetAnnotations()
			delete(annotations, annotationOrigin)
			delete(annotations, annotationDescription)
			released.SetAnnotations(annotations)
			err = r.patchIfChanged(ctx, current, released)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("release %s: %w", describe(object), err))
		}
	}
	return errors.Join(failures...)
}

func (r *Reconciler) patchIfChanged(ctx context.Context, before, after *unstructured.Unstructured) error {
	patch := client.MergeFrom(before)
	if data, err := patch.Data(after); err != nil || string(data) == "{}" {
		return err
	}
	return client.IgnoreNotFound(r.Target.Patch(ctx, after, patch, r.owner()))
}

// origin names a ManagedResource on its objects. It does not name the seed, so that a move changes nothing in the
// shoot.
func origin(managed *resourcesv1alpha1.ManagedResource) string {
	return managed.Namespace + "/" + managed.Name
}
