package actors

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// watchedReader reads the kinds that ring the bell from the cache of their watches, and all others from the API server.
// At the first read of another kind, a cache would begin to watch it, and block until it is filled.
type watchedReader struct {
	cache, live client.Reader
	scheme      *runtime.Scheme
	kinds       sets.Set[schema.GroupVersionKind]
}

var _ client.Reader = &watchedReader{}

func newWatchedReader(cache, live client.Reader, scheme *runtime.Scheme) (*watchedReader, error) {
	r := &watchedReader{cache: cache, live: live, scheme: scheme, kinds: sets.New[schema.GroupVersionKind]()}
	for _, object := range rung() {
		kind, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return nil, fmt.Errorf("find the kind of %T: %w", object, err)
		}
		r.kinds.Insert(kind)
	}
	return r, nil
}

// Get implements client.Reader.
func (r *watchedReader) Get(ctx context.Context, key client.ObjectKey, object client.Object,
	options ...client.GetOption) error {
	return r.of(object).Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (r *watchedReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.of(list).List(ctx, list, options...)
}

func (r *watchedReader) of(object runtime.Object) client.Reader {
	kind, err := apiutil.GVKForObject(object, r.scheme)
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	if err == nil && r.kinds.Has(kind) {
		return r.cache
	}
	return r.live
}
