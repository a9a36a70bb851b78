package controlplane

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// createOrPatch brings an object to what mutate makes of it: created if it is missing, else merge-patched with the
// difference alone, so that fields which our types do not model survive. It writes nothing when nothing differs.
func createOrPatch[T client.Object](ctx context.Context, c client.Client, object T, mutate func(T) error) error {
	key := client.ObjectKeyFromObject(object)
	err := c.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		if err := mutate(object); err != nil {
			return err
		}
		err = c.Create(ctx, object)
		if !apierrors.IsAlreadyExists(err) {
			return describe("create", object, c, err)
		}
		err = c.Get(ctx, key, object)
	}
	if err != nil {
		return describe("read", object, c, err)
	}
	before := object.DeepCopyObject().(client.Object)
	if err := mutate(object); err != nil {
		return err
	}
	patch := client.MergeFrom(before)
	if data, err := patch.Data(object); err != nil || string(data) == "{}" {
		return describe("compare", object, c, err)
	}
	return describe("patch", object, c, c.Patch(ctx, object, patch))
}

// fieldOwner is the name under which the gardenlet applies its objects in the seed.
const fieldOwner = client.FieldOwner("gardenlet")

// Apply brings an object of the seed to the given shape by server-side apply: what others set beside it stays.
func Apply(ctx context.Context, c client.Client, object client.Object) error {
	//nolint:staticcheck // typed objects are the shape here; apply configurations would say the same thing twice
	return describe("apply", object, c, c.Patch(ctx, object, client.Apply, fieldOwner, client.ForceOwnership))
}

// remove deletes an object; that it is gone already is fine.
func remove(ctx context.Context, c client.Client, object client.Object, options ...client.DeleteOption) error {
	return describe("delete", object, c, client.IgnoreNotFound(c.Delete(ctx, object, options...)))
}

// gone returns nil when the object does not exist, else an error that says so.
func gone(ctx context.Context, c client.Client, object client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return describe("read", object, c, err)
	}
	return fmt.Errorf("%s still exists, finalizers %q", name(object, c.Scheme()), object.GetFinalizers())
}

func describe(verb string, object client.Object, c client.Client, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, name(object, c.Scheme()), err)
}

func name(object client.Object, scheme *runtime.Scheme) string {
	kind := fmt.Sprintf("%T", object)
	if kinds, _, err := scheme.ObjectKinds(object); err == nil && len(kinds) > 0 {
		kind = kinds[0].Kind
	}
	return fmt.Sprintf("%s %q", kind, client.ObjectKeyFromObject(object).String())
}
