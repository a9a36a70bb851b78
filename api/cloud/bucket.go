package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bucket holds objects. Its name is unique and is its id.
type Bucket struct {
	Meta
	Name string            `json:"name"`
	Tags map[string]string `json:"tags,omitempty"`
}

// TagMap makes the bucket findable.
func (b *Bucket) TagMap() map[string]string { return b.Tags }

// ResourceName makes the bucket findable.
func (b *Bucket) ResourceName() string { return b.Name }

// Object describes the content under one key. It appears whole or not at all (docs/ownership.md#assumption-a7).
type Object struct {
	Meta
	Bucket     string    `json:"bucket"`
	Key        string    `json:"key"`
	Size       int64     `json:"size"`   // bytes
	Digest     string    `json:"digest"` // "sha256:" and 64 hexadecimal digits
	ModifiedAt time.Time `json:"modifiedAt,omitzero"`
}

// HeaderObject carries the description of an object beside its content, as JSON.
const HeaderObject = "Transplant-Object"

// ValidateKey says whether a key may be used: no empty segment between slashes, none that is "." or "..", at most
// 1024 bytes.
func ValidateKey(key string) error {
	if len(key) > 1024 {
		return fmt.Errorf("key %.40q… is longer than 1024 bytes", key)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("key %q has a segment that is empty, %q or %q", key, ".", "..")
		}
	}
	return nil
}

// BucketContent reads and writes the objects of one bucket.
type BucketContent struct {
	client *Client
	bucket string
}

// Bucket is the content of the bucket with this name.
func (c *Client) Bucket(name string) BucketContent { return BucketContent{client: c, bucket: name} }

// PutOptions say how to write an object.
type PutOptions struct {
	CreateOnly bool // answer AlreadyExists when there is an object; atomic among all writers (docs/ownership.md#o7)
}

// ListOptions say which objects to list.
type ListOptions struct {
	Prefix string
	After  string // only keys behind this one
	Limit  int    // at most so many; 0 and above 1000 mean 1000
}

// ObjectPage is a part of a listing, ordered by key. Next goes into ListOptions.After; empty when nothing follows.
type ObjectPage struct {
	Items []Object `json:"items"`
	Next  string   `json:"next,omitempty"`
}

// Name of the bucket.
func (b BucketContent) Name() string { return b.bucket }

func (b BucketContent) path(key string) []string {
	return append([]string{KindBuckets, b.bucket, KindObjects}, strings.Split(key, "/")...)
}

// Put streams the content into the object. Nothing is visible before all of it has arrived; when content ends with an
// error nothing is written. The digest of what was sent is compared with that of what was stored.
func (b BucketContent) Put(ctx context.Context, key string, content io.Reader, options PutOptions) (*Object, error) {
	if err := ValidateKey(key); err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	if options.CreateOnly {
		header.Set("If-None-Match", "*")
	}
	sum := sha256.New()
	// io.NopCloser also hides the reader's concrete type, so that every body is streamed.
	answer, err := b.client.send(ctx, http.MethodPut, b.path(key), nil, io.NopCloser(io.TeeReader(content, sum)), header)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	object := &Object{}
	if err := json.NewDecoder(answer.Body).Decode(object); err != nil {
		return nil, fmt.Errorf("parse the answer to the upload of %q: %w", key, err)
	}
	if sent := digestText(sum); object.Digest != sent {
		return nil, &Error{Code: CodeDamaged, Reason: "BadDigest",
			Message: fmt.Sprintf("object %q was stored with digest %s, sent with %s", key, object.Digest, sent)}
	}
	return object, nil
}

// Get streams the content. The reader ends with an error of code Damaged instead of io.EOF when the content does not
// match the digest of the object; the caller closes it.
func (b BucketContent) Get(ctx context.Context, key string) (io.ReadCloser, *Object, error) {
	answer, err := b.client.send(ctx, http.MethodGet, b.path(key), nil, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	object := &Object{}
	if err := json.Unmarshal([]byte(answer.Header.Get(HeaderObject)), object); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("parse the description of object %q: %w", key, err), answer.Body.Close())
	}
	return &checkedBody{body: answer.Body, sum: sha256.New(), object: object}, object, nil
}

// Read is Get for small objects: all of the content, checked.
func (b BucketContent) Read(ctx context.Context, key string) ([]byte, error) {
	body, _, err := b.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// Head describes the object.
func (b BucketContent) Head(ctx context.Context, key string) (*Object, error) {
	return call[Object](ctx, b.client, request{method: http.MethodGet, path: b.path(key),
		query: url.Values{"describe": {"true"}}})
}

// Delete removes the object; NotFound when it is gone already.
func (b BucketContent) Delete(ctx context.Context, key string) error {
	return b.client.do(ctx, request{method: http.MethodDelete, path: b.path(key)}, nil)
}

// MaxBatch is how many calls a batch may have.
const MaxBatch = 1000

// BatchCall is a call of a batch: it copies an object to the key, or deletes the one that is there.
type BatchCall struct {
	Key string `json:"key"`
	// Copy names the object that is copied, if the call copies one. It never replaces an object.
	Copy *CopySource `json:"copy,omitempty"`
}

// CopySource is an object that the cloud copies by itself, and the digest that its content must have.
type CopySource struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Digest string `json:"digest"`
}

// Batch makes several calls by one request, in their order, and returns what each has come to: the error that it would
// have had by itself, or nil. A refused call stops none behind it. If Batch itself returns an error, some of them may
// have been made. What a copy reads is checked against the digest; if it does not match, nothing is written, and the
// error has code Damaged.
func (b BucketContent) Batch(ctx context.Context, calls []BatchCall) ([]error, error) {
	results := make([]error, 0, len(calls))
	for part := range slices.Chunk(calls, MaxBatch) {
		answers, err := listOf[*Error](ctx, b.client, request{method: http.MethodPost,
			path: []string{KindBuckets, b.bucket, "batch"}, body: part})
		if err == nil && len(answers) != len(part) {
			err = fmt.Errorf("parse the answer of a batch: %d results for %d calls", len(answers), len(part))
		}
		if err != nil {
			return nil, err
		}
		for _, refused := range answers {
			if refused == nil {
				results = append(results, nil)
			} else {
				results = append(results, refused)
			}
		}
	}
	return results, nil
}

// DeleteAll removes objects by as few requests as possible. That one is gone already is no error.
func (b BucketContent) DeleteAll(ctx context.Context, keys ...string) error {
	calls := make([]BatchCall, 0, len(keys))
	for _, key := range keys {
		calls = append(calls, BatchCall{Key: key})
	}
	results, err := b.Batch(ctx, calls)
	if err != nil {
		return err
	}
	for i, err := range results {
		if err != nil && !IsNotFound(err) {
			return fmt.Errorf("delete the object %q: %w", keys[i], err)
		}
	}
	return nil
}

// List reads one page of objects.
func (b BucketContent) List(ctx context.Context, options ListOptions) (*ObjectPage, error) {
	query := url.Values{"prefix": {options.Prefix}, "after": {options.After}, "limit": {strconv.Itoa(options.Limit)}}
	return call[ObjectPage](ctx, b.client,
		request{method: http.MethodGet, path: []string{KindBuckets, b.bucket, KindObjects}, query: query})
}

// All walks over all objects below the prefix, page by page, and ends after the first error.
func (b BucketContent) All(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		options := ListOptions{Prefix: prefix}
		for {
			page, err := b.List(ctx, options)
			if err != nil {
				yield(Object{}, err)
				return
			}
			for _, object := range page.Items {
				if !yield(object, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			options.After = page.Next
		}
	}
}

// checkedBody compares what it has read with the object's digest before it reports the end.
type checkedBody struct {
	body   io.ReadCloser
	sum    hash.Hash
	object *Object
}

func (c *checkedBody) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	c.sum.Write(p[:n])
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if found := digestText(c.sum); found != c.object.Digest {
		return n, &Error{Code: CodeDamaged, Reason: "BadDigest",
			Message: fmt.Sprintf("object %q has digest %s, its content %s", c.object.Key, c.object.Digest, found)}
	}
	return n, io.EOF
}

func (c *checkedBody) Close() error { return c.body.Close() }

func digestText(sum hash.Hash) string { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }
