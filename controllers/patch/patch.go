// Package patch sends what a controller changes of an object that it has read, as a merge patch: fields that our types
// do not model survive. It does not retry. Its errors name the object, and the fields of a patch, but no values.
package patch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object sends what change changes of an object, if anything. It does not lock: it also overwrites what others have
// written since the object was read.
func Object(ctx context.Context, c client.Client, object client.Object, change func()) error {
	return send(c, changed(object, change), object, client.MergeFrom, func(p client.Patch) error {
		return c.Patch(ctx, object, p)
	})
}

// LockedObject is Object with an optimistic lock. If others have written the object since it was read, the answer is a
// conflict. Lists, such as finalizers, need the lock: a merge patch replaces them as a whole.
func LockedObject(ctx context.Context, c client.Client, object client.Object, change func()) error {
	return send(c, changed(object, change), object, AsRead, func(p client.Patch) error {
		return c.Patch(ctx, object, p)
	})
}

// Status is Object for the status, without a lock.
func Status(ctx context.Context, c client.Client, object client.Object, change func()) error {
	return send(c, changed(object, change), object, client.MergeFrom, func(p client.Patch) error {
		return c.Status().Patch(ctx, object, p)
	})
}

// LockedStatus is Status with an optimistic lock.
func LockedStatus(ctx context.Context, c client.Client, object client.Object, change func()) error {
	return send(c, changed(object, change), object, AsRead, func(p client.Patch) error {
		return c.Status().Patch(ctx, object, p)
	})
}

// CreateOrPatch creates an object as mutate makes it. If there is one, which others may have created meanwhile, it is
// Object. The error is AlreadyExists if a cache does not have the object yet.
func CreateOrPatch[T client.Object](ctx context.Context, c client.Client, object T, mutate func(T) error) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		var created bool
		if created, err = CreateOrRead(ctx, c, object, mutate); created || err != nil {
			return err
		}
	}
	if err != nil {
		return Describe("read", object, c, err)
	}
	return mutated(ctx, c, object, mutate)
}

// CreateFirst is CreateOrPatch for objects that are usually missing: it does not look first.
func CreateFirst[T client.Object](ctx context.Context, c client.Client, object T, mutate func(T) error) error {
	if created, err := CreateOrRead(ctx, c, object, mutate); created || err != nil {
		return err
	}
	return mutated(ctx, c, object, mutate)
}

func mutated[T client.Object](ctx context.Context, c client.Client, object T, mutate func(T) error) error {
	before := object.DeepCopyObject().(client.Object)
	if err := mutate(object); err != nil {
		return err
	}
	return send(c, before, object, client.MergeFrom, func(p client.Patch) error { return c.Patch(ctx, object, p) })
}

// CreateOrRead creates an object as mutate makes it, and reports whether it has. If there is one, it is read, and
// nothing is written. It is for objects that are usually missing: it does not look first. The error is AlreadyExists if
// a cache does not have the object yet.
func CreateOrRead[T client.Object](ctx context.Context, c client.Client, object T,
	mutate func(T) error) (created bool, err error) {
	key, given := client.ObjectKeyFromObject(object), object.DeepCopyObject()
	if err := mutate(object); err != nil {
		return false, err
	}
	object.SetResourceVersion("") // of one that the caller has read, and that is gone
	refused := c.Create(ctx, object)
	if !apierrors.IsAlreadyExists(refused) {
		return refused == nil, Describe("create", object, c, refused)
	}
	// A client may leave in the object what an answer does not have.
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(given).Elem())
	if err = c.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return false, Describe("create", object, c, refused)
	}
	return false, Describe("read", object, c, err)
}

// AsRead is the merge patch of an object that fails if somebody else has written the object since it was read. A caller
// sends it itself if it needs the lock also where nothing changes: the object may be somebody else's by now.
func AsRead(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// Describe says in an error what was attempted with which object; nil stays nil.
func Describe(attempted string, object client.Object, c client.Client, err error) error {
	if err == nil {
		return nil
	}
	kind, _ := c.GroupVersionKindFor(object)
	return fmt.Errorf("%s %s %q: %w", attempted, kind.Kind, client.ObjectKeyFromObject(object), err)
}

// changed changes an object, and returns it as it was before.
func changed(object client.Object, change func()) client.Object {
	before := object.DeepCopyObject().(client.Object)
	change()
	return before
}

func send(c client.Client, before, object client.Object, kind func(client.Object) client.Patch,
	write func(client.Patch) error) error {
	data, err := client.MergeFrom(before).Data(object)
	if err != nil || string(data) == "{}" {
		return Describe("compare", object, c, err)
	}
	if err := write(kind(before)); err != nil {
		return Describe("patch "+strings.Join(fields("", data), ", ")+" of", object, c, err)
	}
	return nil
}

// containers are fields of which an error names the fields within. Elsewhere names may say too much, or be too many.
var containers = []string{"metadata", "annotations", "labels", "spec", "status"}

// fields are the fields that a merge patch writes.
func fields(prefix string, patch json.RawMessage) []string {
	within := map[string]json.RawMessage{}
	if err := json.Unmarshal(patch, &within); err != nil || len(within) == 0 {
		return []string{strings.TrimSuffix(prefix, ".")}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(within)) {
		if slices.Contains(containers, name) {
			names = append(names, fields(prefix+name+".", within[name])...)
		} else {
			names = append(names, prefix+name)
		}
	}
	return names
}
