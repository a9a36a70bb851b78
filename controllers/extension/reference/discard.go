package reference

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Discard deletes an object; one that is gone is fine.
func Discard(ctx context.Context, c client.Client, obj client.Object) error {
	if err := client.IgnoreNotFound(c.Delete(ctx, obj)); err != nil {
		return fmt.Errorf("delete %T %q: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}
