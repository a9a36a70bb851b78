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
	// Delete removes an object; that there is none is no error.
	Delete(ctx context.Context, key string) error
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

// Delete implements Bucket.
func (b CloudBucket) Delete(ctx context.Context, key string) error {
	ctx, call := whileMoving(ctx, callPatience)
	defer call.end()
	if err := call.explain(b.Content.Delete(ctx, b.path(key))); err != nil && !cloud.IsNotFound(err) {
		return fmt.Errorf("delete the object %q: %w", key, err)
	}
	return nil
}
