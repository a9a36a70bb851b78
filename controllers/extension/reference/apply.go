package reference

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply brings an object to what change makes of it: created if missing, else merge-patched with the difference
// alone. It writes nothing if nothing differs.
func Apply[T client.Object](ctx context.Context, c client.Client, obj T, change func(T)) error {
	key := client.ObjectKeyFromObject(obj)
	err := c.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) {
		change(obj)
		if err := c.Create(ctx, obj); err != nil {
			return fmt.Errorf("create %T %q: %w", obj, key, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %T %q: %w", obj, key, err)
	}
	before, ok := obj.DeepCopyObject().(T)
	if !ok {
		return fmt.Errorf("copy %T %q: the copy is of another type", obj, key)
	}
	change(obj)
	patch := client.MergeFrom(before)
	if data, err := patch.Data(obj); err != nil || string(data) == "{}" {
		return err
	}
	if err := c.Patch(ctx, obj, patch); err != nil {
		return fmt.Errorf("patch %T %q: %w", obj, key, err)
	}
	return nil
}

// Discard deletes an object; one that is gone is fine.
func Discard(ctx context.Context, c client.Client, obj client.Object) error {
	if err := client.IgnoreNotFound(c.Delete(ctx, obj)); err != nil {
		return fmt.Errorf("delete %T %q: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}
