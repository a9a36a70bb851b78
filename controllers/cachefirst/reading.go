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

// cached reads from the cache.
type cached struct {
	client.Client
	reader client.Reader
}

func (c cached) Get(ctx context.Context, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
	return c.reader.Get(ctx, key, object, o...)
}

func (c cached) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	return c.reader.List(ctx, list, o...)
}

// reading writes nothing.
type reading struct{ cached }

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

// noting notes whether package patch has written with it.
type noting struct {
	client.Client
	wrote bool
}

func (n *noting) Patch(ctx context.Context, object client.Object, p client.Patch, o ...client.PatchOption) error {
	n.wrote = true
	return n.Client.Patch(ctx, object, p, o...)
}

func (n *noting) Status() client.SubResourceWriter {
	n.wrote = true
	return n.Client.Status()
}
