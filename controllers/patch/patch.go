// Package patch sends what a controller changes of an object that it has read, as a merge patch: fields that our types
// do not model survive. It reads nothing and does not retry. controllerutil.CreateOrPatch creates missing objects.
package patch

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object sends what change changes of an object, if anything. It does not lock: it also overwrites what others have
// written since the object was read.
func Object(ctx context.Context, c client.Client, object client.Object, change func()) error {
	return described("", object, c, send(object, change, false, func(p client.Patch) error {
		return c.Patch(ctx, object, p)
	}))
}

// LockedObject is Object with an optimistic lock. If others have written the object since it was read, the answer is a
// conflict. Lists, such as finalizers, need the lock: a merge patch replaces them as a whole.
func LockedObject(ctx context.Context, c client.Client, object client.Object, change func()) error {
	return described("", object, c, send(object, change, true, func(p client.Patch) error {
		return c.Patch(ctx, object, p)
	}))
}

// Status is Object for the status, without a lock.
func Status(ctx context.Context, c client.Client, object client.Object, change func()) error {
	return described("the status of ", object, c, send(object, change, false, func(p client.Patch) error {
		return c.Status().Patch(ctx, object, p)
	}))
}

// LockedStatus is Status with an optimistic lock.
func LockedStatus(ctx context.Context, c client.Client, object client.Object, change func()) error {
	return described("the status of ", object, c, send(object, change, true, func(p client.Patch) error {
		return c.Status().Patch(ctx, object, p)
	}))
}

func send(object client.Object, change func(), lock bool, write func(client.Patch) error) error {
	before := object.DeepCopyObject().(client.Object)
	change()
	patch := client.MergeFrom(before)
	if data, err := patch.Data(object); err != nil || string(data) == "{}" {
		return err
	}
	if lock {
		patch = client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	}
	return write(patch)
}

func described(part string, object client.Object, c client.Client, err error) error {
	if err == nil {
		return nil
	}
	kind, _ := c.GroupVersionKindFor(object)
	return fmt.Errorf("patch %s%s %q: %w", part, kind.Kind, client.ObjectKeyFromObject(object), err)
}
