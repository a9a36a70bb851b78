package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"slices"
	"strconv"
)

// Kind of an object.
type Kind string

const (
	// Full is a snapshot of everything at one revision.
	Full Kind = "full"
	// Delta is the changes of a range of revisions.
	Delta Kind = "delta"
)

// Object is one backup object. All of it stands in its key.
type Object struct {
	Epoch int64 `json:"epoch"`
	Kind  Kind  `json:"kind"`
	// First and Last are the revisions it covers, both included. A full snapshot covers all up to Last.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// Final marks the snapshot that ends its epoch (docs/ownership.md#o3, docs/ownership.md#o11).
	Final bool `json:"final,omitempty"`
	// SHA256 of the stored bytes, hexadecimal.
	SHA256 string `json:"sha256"`
}

// Key of the object below the prefix of its etcd.
func (o Object) Key() string {
	final := ""
	if o.Final {
		final = "-final"
	}
	return fmt.Sprintf("%s%s-%020d-%020d%s-%s.gz", epochPrefix(o.Epoch), o.Kind, o.First, o.Last, final, o.SHA256)
}

func epochPrefix(epoch int64) string { return fmt.Sprintf("e%d/", epoch) }

var keyPattern = regexp.MustCompile(`^e(\d+)/(full|delta)-(\d{20})-(\d{20})(-final)?-([0-9a-f]{64})\.gz$`)

// ParseKey reads an object from its key; false if the key is none of ours.
func ParseKey(key string) (Object, bool) {
	m := keyPattern.FindStringSubmatch(key)
	if m == nil {
		return Object{}, false
	}
	numbers := [3]int64{}
	for i, text := range []string{m[1], m[3], m[4]} {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Object{}, false
		}
		numbers[i] = n
	}
	return Object{Epoch: numbers[0], Kind: Kind(m[2]), First: numbers[1], Last: numbers[2], Final: m[5] != "",
		SHA256: m[6]}, true
}

// ObjectsOf lists the objects that an epoch has uploaded, in order of their last revision.
func ObjectsOf(ctx context.Context, bucket Bucket, epoch int64) ([]Object, error) {
	keys, err := bucket.List(ctx, epochPrefix(epoch))
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, key := range keys {
		if object, ok := ParseKey(key); ok {
			objects = append(objects, object)
		}
	}
	slices.SortStableFunc(objects, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.Last, b.Last), cmp.Compare(a.First, b.First))
	})
	return objects, nil
}

// FinalSnapshot finds the final snapshot of exactly this epoch; nil if there is none (docs/ownership.md#o6).
func FinalSnapshot(ctx context.Context, bucket Bucket, epoch int64) (*Object, error) {
	objects, err := ObjectsOf(ctx, bucket, epoch)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.Final {
			return &object, nil
		}
	}
	return nil, nil
}

// DamageError says which object of a chain is missing or not what its digest says.
type DamageError struct {
	Key string
	Err error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("backup object %q is damaged: %v", e.Key, e.Err)
}

// Unwrap gives the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// ErrDigest is the cause of damage found by digest.
var ErrDigest = errors.New("its bytes do not match its digest")

// verified reads an object and reports a DamageError instead of io.EOF if the bytes do not match the digest.
type verified struct {
	body   io.ReadCloser
	object Object
	sum    hash.Hash
	damage error
}

func openVerified(ctx context.Context, bucket Bucket, object Object) (*verified, error) {
	body, err := bucket.Get(ctx, object.Key())
	if errors.Is(err, ErrNotFound) {
		return nil, &DamageError{Key: object.Key(), Err: ErrNotFound}
	}
	if err != nil {
		return nil, err
	}
	return &verified{body: body, object: object, sum: sha256.New()}, nil
}

// Read implements io.Reader.
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.body.Read(p)
	v.sum.Write(p[:n])
	// A bucket that keeps digests of its own may see it first.
	if errors.Is(err, ErrDigest) || errors.Is(err, io.EOF) && hex.EncodeToString(v.sum.Sum(nil)) != v.object.SHA256 {
		v.damage = &DamageError{Key: v.object.Key(), Err: ErrDigest}
		return n, v.damage
	}
	return n, err
}

// Damage that was found on the way, for whoever handed the body on and got another error for it.
func (v *verified) Damage() error { return v.damage }

// Close implements io.Closer.
func (v *verified) Close() error { return v.body.Close() }

// verify reads an object to its end, and ends as read does.
func verify(ctx context.Context, bucket Bucket, object Object) error {
	return read(ctx, bucket, object, io.Discard)
}

// read copies an object. Only a missing object, or bytes that are not what its digest says, are a DamageError; that it
// could not be read is none.
func read(ctx context.Context, bucket Bucket, object Object, into io.Writer) error {
	body, err := openVerified(ctx, bucket, object)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(into, body); err != nil && body.Damage() == nil {
		return fmt.Errorf("read the object %q: %w", object.Key(), err)
	}
	return body.Damage()
}
