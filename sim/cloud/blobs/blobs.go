// Package blobs stores the contents of objects, in a folder or in a bucket outside. Which objects there are, and which
// content each has, the ledger says.
package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"  // file:///path
	_ "gocloud.dev/blob/memblob" // mem://
	_ "gocloud.dev/blob/s3blob"  // s3://bucket?region=…

	"github.com/transplant-sim/transplant/sim/durable"
)

// Store is the store of objects' contents. Every content has a key of its own and is never written twice.
type Store struct {
	bucket *blob.Bucket
	log    logr.Logger
	disk   durable.Disk
	root   string // the folder of a bucket of files; empty for any other

	mutex   sync.Mutex
	holders int             // snapshots under way; while there is one nothing is removed
	waiting []string        // what is to be removed after them
	folders map[string]bool // of which is on the disk that they are there
}

// ParseURL parses the address of a store of objects' contents, of a kind that there is.
func ParseURL(address string) (*url.URL, error) {
	parsed, err := url.Parse(address)
	if err != nil || !blob.DefaultURLMux().ValidBucketScheme(parsed.Scheme) {
		return nil, fmt.Errorf("%q is no store of objects: name one such as s3://bucket?region=… or file:///path", address)
	}
	return parsed, nil
}

// Open opens the store; without a URL it is the folder "objects" in dir.
func Open(ctx context.Context, address, dir string, log logr.Logger) (*Store, error) {
	if address == "" {
		absolute, err := filepath.Abs(filepath.Join(dir, "objects"))
		if err != nil {
			return nil, fmt.Errorf("find the folder of objects: %w", err)
		}
		// Temporary files beside the final ones, as a rename does not cross file systems.
		address = (&url.URL{Scheme: "file", Path: absolute,
			RawQuery: "create_dir=true&no_tmp_dir=true&metadata=skip"}).String()
	}
	bucket, err := blob.OpenBucket(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("open the bucket of objects %q: %w", address, err)
	}
	b := &Store{bucket: bucket, log: log, folders: map[string]bool{}}
	if parsed, err := url.Parse(address); err == nil && parsed.Scheme == fileblob.Scheme {
		b.root = filepath.FromSlash(parsed.Path)
	}
	return b, nil
}

// Write stores the content; it is there whole or not at all, and on the disk when Write returns: the ledger relies on
// it.
func (b *Store) Write(ctx context.Context, key string, content io.Reader) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File // nil where contents are no files
	writer, err := b.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "application/octet-stream", BeforeWrite: func(as func(any) bool) error { as(&file); return nil },
	})
	if err != nil {
		return 0, fmt.Errorf("open content %q: %w", key, err)
	}
	size, err := io.Copy(writer, content)
	if err == nil && file != nil {
		err = b.disk.File(file) // before it gets its name
	}
	if err != nil {
		cancel() // makes Close drop what was written
		return 0, errors.Join(fmt.Errorf("write content %q: %w", key, err), ignoreCancelled(writer.Close()))
	}
	if err := writer.Close(); err != nil {
		return 0, fmt.Errorf("finish content %q: %w", key, err)
	}
	return size, b.syncFolders(key)
}

// syncFolders brings the name of a content onto the disk, and those of its folders that are new.
func (b *Store) syncFolders(key string) error {
	if b.root == "" {
		return nil
	}
	folder := filepath.Dir(filepath.Join(b.root, filepath.FromSlash(key)))
	if err := b.disk.Folder(folder); err != nil {
		return err
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for ; !b.folders[folder] && folder != b.root && len(folder) > len(b.root); folder = filepath.Dir(folder) {
		if err := b.disk.Folder(filepath.Dir(folder)); err != nil {
			return err
		}
		b.folders[folder] = true
	}
	return nil
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Open a content for reading.
func (b *Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	reader, err := b.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, fmt.Errorf("open content %q: %w", key, err)
	}
	return reader, nil
}

// Remove drops a content that no object has any more. What fails, or is cut short, the next start does again.
func (b *Store) Remove(key string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.holders > 0 {
		b.waiting = append(b.waiting, key)
		return
	}
	b.drop(key)
}

func (b *Store) drop(key string) {
	if err := b.bucket.Delete(context.Background(), key); err != nil {
		b.log.V(1).Info("Leave a content behind until the next start", "key", key, "error", err.Error())
	}
}

// Hold keeps every content from being removed until release is called.
func (b *Store) Hold() (release func()) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.holders++
	return func() {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		if b.holders--; b.holders > 0 {
			return
		}
		for _, key := range b.waiting {
			b.drop(key)
		}
		b.waiting = nil
	}
}

// RemoveAllBut drops what a killed process had written and not recorded.
func (b *Store) RemoveAllBut(ctx context.Context, used map[string]bool) error {
	list := b.bucket.List(nil)
	for {
		item, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the contents of objects: %w", err)
		}
		if !item.IsDir && !used[item.Key] {
			b.drop(item.Key)
		}
	}
}

// Close the store.
func (b *Store) Close() error { return b.bucket.Close() }
