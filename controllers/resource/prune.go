package resource

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// prune deletes objects from the shoot and returns those that are still there, with an error that names each and says
// why.
func (r *Reconciler) prune(ctx context.Context, managed *resourcesv1alpha1.ManagedResource,
	refs []resourcesv1alpha1.ObjectReference) (pruned, error) {
	var failures []error
	p := pruned{}
	for _, ref := range refs {
		gone, err := r.deleteObject(ctx, managed, objectOf(ref))
		switch {
		case err != nil:
			p.failed = true
			failures = append(failures, fmt.Errorf("delete %s: %w", describe(objectOf(ref)), err))
		case !gone:
			failures = append(failures, fmt.Errorf("the deletion of %s is still pending", describe(objectOf(ref))))
		default:
			continue
		}
		p.left = append(p.left, ref)
	}
	return p, errors.Join(failures...)
}

// pruned is what came of a prune.
type pruned struct {
	left []resourcesv1alpha1.ObjectReference
	// failed is whether a deletion was refused, not only that it takes its time.
	failed bool
}

// deleteObject deletes an object and looks whether it is gone. One that is to be kept, or that another ManagedResource
// has taken over since, counts as gone.
func (r *Reconciler) deleteObject(ctx context.Context, managed *resourcesv1alpha1.ManagedResource,
	object *unstructured.Unstructured) (gone bool, err error) {
	current, err := r.current(ctx, object)
	if err != nil || current == nil {
		return err == nil, err
	}
	annotations := current.GetAnnotations()
	if from := annotations[annotationOrigin]; isTrue(annotations, annotationKeepObject) ||
		(from != "" && from != origin(managed)) {
		return true, nil
	}
	if ptr.Deref(managed.Spec.DeletePersistentVolumeClaims, false) {
		if err := r.deleteClaims(ctx, current); err != nil {
			return false, err
		}
	}
	if current.GetDeletionTimestamp() == nil {
		options := []client.DeleteOption{client.Preconditions{UID: ptr.To(current.GetUID())}}
		// Only workloads have dependents that must be gone with them; others cannot be relied on in the foreground.
		if group := current.GroupVersionKind().Group; group == appsv1.GroupName || group == batchv1.GroupName {
			options = append(options, client.PropagationPolicy(metav1.DeletePropagationForeground))
		}
		if err := r.Target.Delete(ctx, current, options...); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return false, err
		}
	}
	// Most objects go at once: to wait for the next round would hold up whoever waits for the ManagedResource.
	current, err = r.current(ctx, object)
	return err == nil && current == nil, err
}

// deleteClaims deletes the volume claims that a StatefulSet has made.
func (r *Reconciler) deleteClaims(ctx context.Context, object *unstructured.Unstructured) error {
	if object.GroupVersionKind().GroupKind() != appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind() {
		return nil
	}
	labels, _, err := unstructured.NestedStringMap(object.Object, "spec", "selector", "matchLabels")
	if err != nil || len(labels) == 0 {
		return err
	}
	return r.Target.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, client.InNamespace(object.GetNamespace()),
		client.MatchingLabels(labels))
}
