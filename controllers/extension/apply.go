package extension

import (
	"context"
	"fmt"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// apply brings an object to what change makes of it: created if missing, else merge-patched with the difference
// alone. It writes nothing if nothing differs.
func apply[T client.Object](ctx context.Context, c client.Client, obj T, change func(T)) error {
	if _, err := controllerutil.CreateOrPatch(ctx, c, obj, func() error { change(obj); return nil }); err != nil {
		return fmt.Errorf("create or patch %T %q: %w", obj, client.ObjectKeyFromObject(obj), err)
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
