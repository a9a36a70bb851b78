package etcdtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
)

// ErrBucketDown is what a Bucket that is down answers.
var ErrBucketDown = errors.New("the bucket is down")

// Bucket holds objects in memory. Its zero value is empty.
type Bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	down    bool
	asked   []string
}

// Asked are the questions so far: "list" with a prefix, "get" with a key.
func (b *Bucket) Asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asked)
}

var _ backup.Bucket = &Bucket{}

// Keys of all objects, sorted.
func (b *Bucket) Keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.objects))
}

// List implements backup.Bucket.
func (b *Bucket) List(_ context.Context, prefix string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return nil, ErrBucketDown
	}
	b.asked = append(b.asked, "list "+prefix)
	var keys []string
	for key := range b.objects {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// Get implements backup.Bucket.
func (b *Bucket) Get(_ context.Context, key string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return nil, ErrBucketDown
	}
	b.asked = append(b.asked, "get "+key)
	content, ok := b.objects[key]
	if !ok {
		return nil, fmt.Errorf("get %q: %w", key, backup.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Create implements backup.Bucket.
func (b *Bucket) Create(_ context.Context, key string, content io.Reader) error {
	all, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return ErrBucketDown
	}
	if _, exists := b.objects[key]; exists {
		return fmt.Errorf("create %q: %w", key, backup.ErrExists)
	}
	if b.objects == nil {
		b.objects = map[string][]byte{}
	}
	b.objects[key] = all
	return nil
}

// Take implements backup.Bucket.
func (b *Bucket) Take(ctx context.Context, from backup.Bucket, objects []backup.Object) ([]error, error) {
	results := make([]error, len(objects))
	for i, object := range objects {
		results[i] = b.take(ctx, from, object)
	}
	return results, nil
}

func (b *Bucket) take(ctx context.Context, from backup.Bucket, object backup.Object) error {
	body, err := from.Get(ctx, object.Key())
	if errors.Is(err, backup.ErrNotFound) {
		return &backup.DamageError{Key: object.Key(), Err: err}
	}
	if err != nil {
		return err
	}
	content, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		return err
	}
	if fmt.Sprintf("%x", sha256.Sum256(content)) != object.SHA256 {
		return &backup.DamageError{Key: object.Key(), Err: backup.ErrDigest}
	}
	return b.Create(ctx, object.Key(), bytes.NewReader(content))
}

// Delete implements backup.Bucket.
func (b *Bucket) Delete(_ context.Context, keys ...string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return ErrBucketDown
	}
	for _, key := range keys {
		delete(b.objects, key)
	}
	return nil
}

// Down switches the bucket off or on.
func (b *Bucket) Down(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

// Damage changes one byte of an object.
func (b *Bucket) Damage(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content := slices.Clone(b.objects[key])
	content[len(content)/2] ^= 0xff
	b.objects[key] = content
}

// Copy of the bucket that changes by itself from now on.
func (b *Bucket) Copy() *Bucket {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &Bucket{objects: maps.Clone(b.objects)}
}

// Size of an object in bytes.
func (b *Bucket) Size(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.objects[key])
}
