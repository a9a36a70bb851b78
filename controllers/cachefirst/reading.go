package cachefirst

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errAsk ends what a cache is asked for when it comes to a write.
var errAsk = errors.New("a write is not decided by a cache: the API server is to be asked")

// Ask is an error if the client reads from a cache. It stands before what no cache may be asked for, as before a write.
func Ask(c client.Client) error {
	if _, is := c.(reading); is {
		return errAsk
	}
	return nil
}

// reading reads from the cache and writes nothing. The client only names kinds.
type reading struct {
	client.Client
	cached client.Reader
}

func (r reading) Get(ctx context.Context, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
	return r.cached.Get(ctx, key, object, o...)
}

func (r reading) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	return r.cached.List(ctx, list, o...)
}

func (reading) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errAsk
}

func (reading) Create(context.Context, client.Object, ...client.CreateOption) error { return errAsk }

func (reading) Delete(context.Context, client.Object, ...client.DeleteOption) error { return errAsk }

func (reading) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errAsk
}

func (reading) Update(context.Context, client.Object, ...client.UpdateOption) error { return errAsk }

func (reading) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return errAsk
}

func (reading) Status() client.SubResourceWriter { return unread{} }

func (reading) SubResource(string) client.SubResourceClient { return unread{} }

// unread are subresources, which no cache has.
type unread struct{}

func (unread) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errAsk
}

func (unread) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errAsk
}

func (unread) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return errAsk
}

func (unread) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return errAsk
}

func (unread) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errAsk
}
