package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/transplant-sim/transplant/clusters/ready"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// LoseObject deletes an object, past its finalizers, as somebody with too many rights does. The heal puts it back as it
// was, unless somebody has made it anew.
type LoseObject struct {
	OneObject `json:",inline"`
}

var _ Fault = &LoseObject{}

// goneTimeout bounds the end of an object that has no finalizers left.
const goneTimeout = 10 * time.Second

// Name is "loseObject(cluster,object)".
func (l *LoseObject) Name() string { return fmt.Sprintf("loseObject(%s)", l.OneObject) }

// Check finds unknown clusters and impossible kinds.
func (l *LoseObject) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return l.checkObject(path, on)
}

// Inject deletes the object and waits until it is gone.
func (l *LoseObject) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	objects, err := l.connect(w)
	if err != nil {
		return world.Injection{}, err
	}
	var kept *unstructured.Unstructured
	// somebody may make it anew between the look and the deletion
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if kept, err = objects.Get(ctx, l.Object, metav1.GetOptions{}); err != nil {
			return err
		}
		return l.remove(ctx, objects, kept.GetUID())
	})
	if l.isGone(err) {
		return nothingDone(), nil
	}
	if err != nil {
		err = fmt.Errorf("lose %s: %w", l.OneObject, err)
	}
	if kept == nil { // it could not even be read
		return world.Injection{}, err
	}
	heal := func(ctx context.Context) error {
		_, err := objects.Create(ctx, asNew(kept), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("put %s back: %w", l.OneObject, err)
		}
		return nil
	}
	return world.Injection{Heal: heal, Hits: func() int { return 1 }}, err
}

// remove ends the object that was read. Its error is one of isGone when somebody else has ended it, and a Conflict when
// there is another of that name already.
func (l *LoseObject) remove(ctx context.Context, objects dynamic.ResourceInterface, uid types.UID) error {
	if err := objects.Delete(ctx, l.Object,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		return err
	}
	err := ready.Await(ctx, 50*time.Millisecond, goneTimeout, func(ctx context.Context) error {
		object, err := objects.Get(ctx, l.Object, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && object.GetUID() != uid {
			return nil
		}
		if err == nil {
			// Whoever set a finalizer may set it again until the deletion is seen.
			_, err = objects.Patch(ctx, l.Object, types.MergePatchType,
				fmt.Appendf(nil, `{"metadata":{"uid":%q,"finalizers":null}}`, uid), metav1.PatchOptions{})
		}
		if err == nil {
			err = errors.New("its finalizers were taken off")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for its end: %w", err)
	}
	return nil
}

// asNew is an object without what the API server gives it.
func asNew(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetGeneration(0)
	object.SetManagedFields(nil)
	object.SetDeletionTimestamp(nil)
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	return object
}
