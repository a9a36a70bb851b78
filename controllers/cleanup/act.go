package cleanup

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// act does what was decided for one object. Whatever is done is done to the object that was looked at, not to one of
// the same name that has come since.
func (s *sweep) act(ctx context.Context, d Decision) error {
	object := d.Object.DeepCopy()
	if d.ReleaseSnapshot {
		if err := s.patch(ctx, object,
			map[string]any{"annotations": map[string]any{SnapshotBeingDeleted: SnapshotBeingDeletedValue,
				SnapshotBeingCreated: nil}}); err != nil {
			return fmt.Errorf("release the snapshot at the cloud: %w", err)
		}
	}
	switch d.Action {
	case Delete:
		err := s.shoot.Delete(ctx, object, client.GracePeriodSeconds(int64(d.Grace/time.Second)),
			client.Preconditions{UID: &object.UID})
		return tolerateConflict(err)
	case Finalize:
		s.Log.Info("Finalizers are taken off an object that does not go", "object", Describe(d.Object), "why", d.Why)
		// The lock: a controller that takes its finalizer off now has done its work.
		err := s.patch(ctx, object, map[string]any{"finalizers": nil, "resourceVersion": object.ResourceVersion})
		if err == nil {
			s.metrics.finalize(d.Step)
		}
		return tolerateConflict(err)
	}
	return nil
}

// tolerateConflict leaves an object that has changed to the next look.
func tolerateConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (s *sweep) patch(ctx context.Context, object *metav1.PartialObjectMetadata, metadata map[string]any) error {
	content, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	return s.shoot.Patch(ctx, object, client.RawPatch(types.MergePatchType, content))
}
