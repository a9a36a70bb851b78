package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/transplant-sim/transplant/api/cloud"
)

// ErrExists refuses a create of an object that is there already.
var ErrExists = errors.New("the object exists already")

// ErrNotFound says that there is no such object.
var ErrNotFound = errors.New("there is no such object")

// Bucket is what backups need of an object store. An object appears whole or not at all
// (docs/ownership.md#assumption-a7).
type Bucket interface {
	// List returns the keys with this prefix, sorted.
	List(ctx context.Context, prefix string) ([]string, error)
	// Get opens an object; ErrNotFound if there is none.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// Create puts an object; atomically ErrExists if there is one.
	Create(ctx context.Context, key string, content io.Reader) error
	// Take copies objects of another bucket of the same store, each to the key that it has there. It returns what has come
	// of each: nil, ErrExists if there is one, a DamageError, or another error.
	Take(ctx context.Context, from Bucket, objects []Object) ([]error, error)
	// Delete removes objects; that there is none is no error.
	Delete(ctx context.Context, keys ...string) error
}

// listing is a Bucket of which all keys are listed at the first question, and no more. It is for one look at a bucket,
// of which each part asks for keys: what is created or deleted meanwhile is not seen.
type listing struct {
	Bucket
	mu   sync.Mutex
	keys []string
	done bool
}

// listed makes listings of two buckets: one, if they are the same.
func listed(source, target Bucket) (sourceListing, targetListing Bucket) {
	of := &listing{Bucket: source}
	if source == target {
		return of, of
	}
	return of, &listing{Bucket: target}
}

// List implements Bucket.
func (l *listing) List(ctx context.Context, prefix string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done {
		keys, err := l.Bucket.List(ctx, "")
		if err != nil {
			return nil, err
		}
		l.keys, l.done = keys, true
	}
	return slices.DeleteFunc(slices.Clone(l.keys), func(key string) bool { return !strings.HasPrefix(key, prefix) }), nil
}

// Take implements Bucket.
func (l *listing) Take(ctx context.Context, from Bucket, objects []Object) ([]error, error) {
	if other, is := from.(*listing); is {
		from = other.Bucket
	}
	return l.Bucket.Take(ctx, from, objects)
}

// CloudBucket is a Bucket of the cloud's API, below a prefix (without the final slash; may be empty). A call of it that
// stands still ends with ErrStalled.
type CloudBucket struct {
	Content cloud.BucketContent
	Prefix  string
}

var _ Bucket = CloudBucket{}

func (b CloudBucket) path(key string) string {
	if b.Prefix == "" {
		return key
	}
	return b.Prefix + "/" + key
}

// List implements Bucket.
func (b CloudBucket) List(ctx context.Context, prefix string) ([]string, error) {
	ctx, call := whileMoving(ctx, callPatience)
	defer call.end()
	var keys []string
	root := len(b.path(""))
	for object, err := range b.Content.All(ctx, b.path(prefix)) {
		if err != nil {
			return nil, fmt.Errorf("list the objects below %q: %w", b.path(prefix), call.explain(err))
		}
		call.moved()
		keys = append(keys, object.Key[root:])
	}
	return keys, nil
}

// Get implements Bucket.
func (b CloudBucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	ctx, call := whileMoving(ctx, stallPatience)
	body, _, err := b.Content.Get(ctx, b.path(key))
	if err != nil {
		call.end()
	}
	if cloud.IsNotFound(err) {
		return nil, fmt.Errorf("get the object %q: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("get the object %q: %w", key, call.explain(err))
	}
	return movingBody{movingReader{ownDigest{body}, call}, body}, nil
}

// ownDigest says in the words of this package what the cloud's client finds out by the digest that the cloud keeps.
type ownDigest struct{ io.Reader }

// Read implements io.Reader.
func (d ownDigest) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if cloud.IsDamaged(err) {
		err = fmt.Errorf("%w: %w", ErrDigest, err)
	}
	return n, err
}

// Create implements Bucket.
func (b CloudBucket) Create(ctx context.Context, key string, content io.Reader) error {
	ctx, call := whileMoving(ctx, stallPatience)
	defer call.end()
	_, err := b.Content.Put(ctx, b.path(key), call.reader(content), cloud.PutOptions{CreateOnly: true})
	if cloud.IsAlreadyExists(err) {
		return fmt.Errorf("create the object %q: %w", key, ErrExists)
	}
	if err != nil {
		return fmt.Errorf("create the object %q: %w", key, call.explain(err))
	}
	return nil
}

// Take implements Bucket. The cloud copies by itself, all in one request, and says all the time that something moves.
func (b CloudBucket) Take(ctx context.Context, from Bucket, objects []Object) ([]error, error) {
	source, is := from.(CloudBucket)
	if !is {
		return nil, fmt.Errorf("copy from %T: it is no bucket of the cloud", from)
	}
	calls := make([]cloud.BatchCall, 0, len(objects))
	for _, object := range objects {
		calls = append(calls, cloud.BatchCall{Key: b.path(object.Key()), Copy: &cloud.CopySource{
			Bucket: source.Content.Name(), Key: source.path(object.Key()), Digest: "sha256:" + object.SHA256}})
	}
	ctx, call := whileMoving(ctx, stallPatience)
	defer call.end()
	results, err := b.Content.Batch(ctx, calls)
	if err != nil {
		return nil, fmt.Errorf("copy %d objects to %q: %w", len(objects), b.path(""), call.explain(err))
	}
	for i, err := range results {
		results[i] = copied(objects[i].Key(), err)
	}
	return results, nil
}

// copied says in the words of this package what has come of a copy.
func copied(key string, err error) error {
	switch {
	case err == nil:
		return nil
	case cloud.IsAlreadyExists(err):
		return fmt.Errorf("create the object %q: %w", key, ErrExists)
	case cloud.IsNotFound(err) && !cloud.IsNoSuchBucket(err): // without a bucket, nothing is known of the object
		return &DamageError{Key: key, Err: ErrNotFound}
	case cloud.IsDamaged(err):
		return &DamageError{Key: key, Err: fmt.Errorf("%w: %w", ErrDigest, err)}
	}
	return fmt.Errorf("copy the object %q: %w", key, err)
}

// Delete implements Bucket.
func (b CloudBucket) Delete(ctx context.Context, keys ...string) error {
	ctx, call := whileMoving(ctx, callPatience)
	defer call.end()
	paths := make([]string, 0, len(keys))
	for _, key := range keys {
		paths = append(paths, b.path(key))
	}
	return call.explain(b.Content.DeleteAll(ctx, paths...))
}
