package extension

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply brings an object to what change makes of it: created if missing, else merge-patched with the difference
// alone. It writes nothing if nothing differs.
func apply[T client.Object](ctx context.Context, c client.Client, obj T, change func(T)) error {
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

// discard deletes an object; one that is gone is fine.
func discard(ctx context.Context, c client.Client, obj client.Object) error {
	if err := client.IgnoreNotFound(c.Delete(ctx, obj)); err != nil {
		return fmt.Errorf("delete %T %q: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// with is the map with one more entry, leaving the given one as it is.
func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
