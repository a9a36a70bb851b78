package reference

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Apply brings an object to what change makes of it: created if missing, else merge-patched with the difference
// alone. It writes nothing if nothing differs.
func Apply[T client.Object](ctx context.Context, c client.Client, obj T, change func(T)) error {
	if _, err := controllerutil.CreateOrPatch(ctx, c, obj, func() error { change(obj); return nil }); err != nil {
		return fmt.Errorf("create or patch %T %q: %w", obj, client.ObjectKeyFromObject(obj), err)
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
