package reference

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/patch"
)

// Apply creates or patches an object by a change that cannot fail.
func Apply[T client.Object](ctx context.Context, c client.Client, obj T, change func(T)) error {
	return patch.CreateOrPatch(ctx, c, obj, func(T) error { change(obj); return nil })
}

// Discard deletes an object; one that is gone is fine.
func Discard(ctx context.Context, c client.Client, obj client.Object) error {
	if err := client.IgnoreNotFound(c.Delete(ctx, obj)); err != nil {
		return fmt.Errorf("delete %T %q: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}
