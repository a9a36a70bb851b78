package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/batch"
	"github.com/transplant-sim/transplant/sim/cloud/blobs"
	"github.com/transplant-sim/transplant/sim/cloud/faultbook"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

// storedObject is the row of an object: its description and where its content lies.
type storedObject struct {
	api.Object
	Blob string `json:"blob"`
}

// bucketName is what clouds commonly allow.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func buckets() kind {
	return kindOf(api.KindBuckets, "", rules[api.Bucket]{
		admit: func(v *view, b *api.Bucket) error {
			if !bucketName.MatchString(b.Name) {
				return refusal.New(api.CodeInvalid, "InvalidBucketName", "The bucket name '%s' is invalid", b.Name)
			}
			if _, there := v.rows[api.KindBuckets][b.Name]; there {
				return refusal.New(api.CodeAlreadyExists, "BucketAlreadyExists", "The requested bucket name '%s' is not available",
					b.Name)
			}
			return nil
		},
		change: func(_ *view, before, after *api.Bucket) error {
			if after.Name != before.Name {
				return refusal.Invalid("The name of bucket '%s' cannot be changed", before.Name)
			}
			return nil
		},
		release: func(v *view, b *api.Bucket) (*api.Bucket, error) {
			if len(v.keys[b.Name]) > 0 {
				return nil, refusal.New(api.CodeDependencyViolation, "BucketNotEmpty",
					"The bucket '%s' you tried to delete is not empty", b.Name)
			}
			return nil, nil
		},
	})
}

func objectID(bucket, key string) string { return bucket + "/" + key }

func noSuchKey(key string) *api.Error {
	return refusal.New(api.CodeNotFound, "NoSuchKey", "The specified key '%s' does not exist", key)
}

func findBucket(v *view, name string) error {
	if _, there := v.rows[api.KindBuckets][name]; !there {
		return refusal.New(api.CodeNotFound, api.ReasonNoSuchBucket, "The specified bucket '%s' does not exist", name)
	}
	return nil
}

func findObject(v *view, bucket, key string) (*storedObject, error) {
	if err := findBucket(v, bucket); err != nil {
		return nil, err
	}
	row, there := v.rows[api.KindObjects][objectID(bucket, key)]
	if !there {
		return nil, noSuchKey(key)
	}
	return row.(*storedObject), nil
}

// objects answers calls of what is in buckets.
type objects struct {
	db    *database
	blobs *blobs.Store
	log   logr.Logger
}

func (o objects) put(c *call, w http.ResponseWriter, r *http.Request) error {
	object := api.Object{Bucket: r.PathValue("bucket"), Key: r.PathValue("key")}
	row, err := o.write(r.Context(), c, object, r.Header.Get("If-None-Match") == "*", r.Body)
	if err != nil {
		return err
	}
	return answer(w, present(c, row, o.db.clock.Now()))
}

// write stores the content under a name of its own first; the entry in the ledger makes it the object's.
func (o objects) write(ctx context.Context, c *call, of api.Object, createOnly bool,
	content io.Reader) (api.Resource, error) {
	bucket, key := of.Bucket, of.Key
	if err := api.ValidateKey(key); err != nil {
		return nil, o.db.refuseBefore(c, refusal.Invalid("%v", err))
	}
	admit := func(v *view) (*storedObject, error) {
		before, err := findObject(v, bucket, key)
		if err == nil && createOnly {
			return nil, refusal.New(api.CodeAlreadyExists, "PreconditionFailed",
				"At least one of the pre-conditions you specified did not hold: the object '%s' already exists", key)
		}
		if before == nil && findBucket(v, bucket) == nil {
			return nil, nil
		}
		return before, err
	}
	// Asked before the upload to spare it, and again when it counts.
	if _, err := look(o.db, func(v *view) (*storedObject, error) {
		if err := v.checkBackup(c, objectID(bucket, key)); err != nil {
			return nil, err
		}
		return admit(v)
	}); err != nil {
		return nil, o.db.refuseBefore(c, err)
	}
	object := &storedObject{Object: of, Blob: objectID(bucket, key) + "." + randomHex(8)}
	if err := o.upload(ctx, object, content); err != nil {
		return nil, o.db.refuseBefore(c, err)
	}
	var replaced *storedObject
	row, err := o.db.mutate(c, func(v *view) (change, error) {
		before, err := admit(v)
		if err != nil {
			return change{}, err
		}
		replaced, object.ModifiedAt = before, v.now.UTC()
		wanted := v.replace(api.KindObjects, objectID(bucket, key), object)
		wanted.name = key
		return wanted, nil
	})
	if err != nil {
		o.blobs.Remove(object.Blob)
		return nil, err
	}
	if replaced != nil {
		o.blobs.Remove(replaced.Blob)
	}
	return row, nil
}

// upload stores the content, and refuses one that is not what the object's digest says, if it has one.
func (o objects) upload(ctx context.Context, object *storedObject, content io.Reader) error {
	sum := sha256.New()
	size, err := o.blobs.Write(ctx, object.Blob, io.TeeReader(content, sum))
	if err != nil {
		return refusal.New(api.CodeUnavailable, "RequestTimeout", "The object '%s' could not be received: %v", object.Key,
			err)
	}
	found := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	if wanted := object.Digest; wanted != "" && found != wanted {
		o.blobs.Remove(object.Blob)
		return refusal.New(api.CodeDamaged, "BadDigest", "The content of the object '%s' has digest %s, not %s", object.Key,
			found, wanted)
	}
	object.Size, object.Digest = size, found
	return nil
}

func (o objects) get(c *call, w http.ResponseWriter, r *http.Request) error {
	object, body, err := o.read(r.Context(), c, r.PathValue("bucket"), r.PathValue("key"),
		r.URL.Query().Get("describe") != "true")
	if err != nil {
		return err
	}
	if body == nil {
		return answer(w, &object.Object)
	}
	defer body.Close()
	description, err := json.Marshal(&object.Object)
	if err != nil {
		return fmt.Errorf("marshal the description of object %q: %w", object.Key, err)
	}
	w.Header().Set(api.HeaderObject, string(description))
	w.Header().Set("Content-Length", strconv.FormatInt(object.Size, 10))
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, o.db.faults.Damage(c.subject(), &c.harm, body)); err != nil {
		o.log.V(1).Info("Download ended early", "object", object.ID, "error", err.Error())
		panic(http.ErrAbortHandler) // a clean end would look like the whole object
	}
	return nil
}

// read finds an object that the caller may see and no fault hides, and opens its content.
func (o objects) read(ctx context.Context, c *call, bucket, key string, withBody bool) (*storedObject, io.ReadCloser,
	error) {
	if err := o.checkRead(c, bucket, key); err != nil {
		return nil, nil, err
	}
	if o.db.faults.Missing(c.subject(), &c.harm) {
		return nil, nil, noSuchKey(key)
	}
	return o.open(ctx, bucket, key, withBody)
}

// checkRead says whether the caller may see the key, or the keys with a prefix.
func (o objects) checkRead(c *call, bucket, key string) error {
	_, err := look(o.db, func(v *view) (struct{}, error) {
		if err := findBucket(v, bucket); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, v.checkBackup(c, objectID(bucket, key))
	})
	return err
}

// open looks the object up and opens its content. The content of an object replaced in between is gone, so it
// looks again then.
func (o objects) open(ctx context.Context, bucket, key string, withBody bool) (*storedObject, io.ReadCloser, error) {
	for attempt := 1; ; attempt++ {
		object, err := look(o.db, func(v *view) (*storedObject, error) {
			return findObject(v, bucket, key)
		})
		if err != nil || !withBody {
			return object, nil, err
		}
		body, err := o.blobs.Open(ctx, object.Blob)
		if err == nil {
			return object, body, nil
		}
		if attempt == 10 {
			return nil, nil, fmt.Errorf("open the content of object %q: %w", object.ID, err)
		}
	}
}

func (o objects) delete(c *call, w http.ResponseWriter, r *http.Request) error {
	return outcome(w, struct{}{}, o.remove(c, r.PathValue("bucket"), r.PathValue("key")))
}

func (o objects) remove(c *call, bucket, key string) error {
	var deleted *storedObject
	_, err := o.db.mutate(c, func(v *view) (change, error) {
		var err error
		if deleted, err = findObject(v, bucket, key); err != nil {
			return change{}, err
		}
		return change{id: deleted.ID, name: deleted.Key, before: deleted}, nil
	})
	if err == nil {
		o.blobs.Remove(deleted.Blob)
	}
	return err
}

const maxPage = 1000

func (o objects) list(c *call, w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	bucket := r.PathValue("bucket")
	if err := o.checkRead(c, bucket, query.Get("prefix")); err != nil {
		return err
	}
	page, err := look(o.db, func(v *view) (*api.ObjectPage, error) {
		if err := findBucket(v, bucket); err != nil {
			return nil, err
		}
		return pageOf(v, bucket, query.Get("prefix"), query.Get("after"), limit), nil
	})
	if err != nil {
		return err
	}
	page.Items = slices.DeleteFunc(page.Items, func(object api.Object) bool {
		one := c.subject()
		one.ID = object.ID
		return o.db.faults.Missing(one, &faultbook.Harm{}) // each object is looked for by itself
	})
	return answer(w, page)
}

func pageOf(v *view, bucket, prefix, after string, limit int) *api.ObjectPage {
	page := &api.ObjectPage{Items: []api.Object{}}
	keys := v.keys[bucket]
	at, found := slices.BinarySearch(keys, max(prefix, after))
	if found && after >= prefix {
		at++ // after itself has been listed already
	}
	for _, key := range keys[at:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		if len(page.Items) == limit {
			page.Next = page.Items[limit-1].Key
			break
		}
		page.Items = append(page.Items, v.rows[api.KindObjects][objectID(bucket, key)].(*storedObject).Object)
	}
	return page
}

// batch makes the calls of a request one after the other. Each is allowed, harmed, fenced, recorded and counted as if
// it had come by itself.
func (s *Server) batch(o objects) handler {
	return func(c *call, w http.ResponseWriter, r *http.Request) error {
		var calls []api.BatchCall
		if _, err := readBody(w, r, &calls); err != nil {
			return s.db.refuseBefore(c, err)
		}
		if len(calls) > api.MaxBatch {
			return s.db.refuseBefore(c, refusal.Invalid("A batch has at most %d calls, not %d", api.MaxBatch, len(calls)))
		}
		answer := batch.New(w)
		for _, wanted := range calls {
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // whoever has asked has gone, and may own the shoot no longer
			}
			err := s.part(r.Context(), c, o, answer, r.PathValue("bucket"), wanted)
			if errors.Is(err, faultbook.ErrDropped) {
				panic(http.ErrAbortHandler) // as for a call by itself
			}
			var refused *api.Error
			if err != nil {
				refused = refusal.Of(err)
				refused.RequestID = c.requestID
			}
			answer.Add(refused)
		}
		return answer.Finish()
	}
}

// part makes one call of a batch.
func (s *Server) part(ctx context.Context, c *call, o objects, answer *batch.Answer, bucket string,
	wanted api.BatchCall) (err error) {
	verb := api.VerbDelete
	if wanted.Copy != nil {
		verb = api.VerbPut
	}
	one := c.of(verb, objectID(bucket, wanted.Key))
	defer func() {
		s.metrics.called(one, err)
		c.harm.Dropped = c.harm.Dropped || one.harm.Dropped
	}()
	if err := s.admit(ctx, one); errors.Is(err, faultbook.ErrDropped) {
		return err
	} else if err != nil {
		return s.db.refuseBefore(one, err)
	}
	if wanted.Copy == nil {
		return o.remove(one, bucket, wanted.Key)
	}
	body, err := s.readFor(ctx, one, o, *wanted.Copy)
	if errors.Is(err, faultbook.ErrDropped) {
		return err
	} else if err != nil {
		return s.db.refuseBefore(one, err)
	}
	defer body.Close()
	_, err = o.write(ctx, one, api.Object{Bucket: bucket, Key: wanted.Key, Digest: wanted.Copy.Digest}, true,
		answer.Moving(body))
	return err
}

// readFor opens what a call copies, as a read of the caller would. It flows as slowly as the slower of both calls.
func (s *Server) readFor(ctx context.Context, c *call, o objects, from api.CopySource) (io.ReadCloser, error) {
	if from.Digest == "" {
		return nil, refusal.Invalid("copy.digest: the digest of the object '%s' is missing", from.Key)
	}
	one := c.of(api.VerbGet, objectID(from.Bucket, from.Key))
	if err := s.admit(ctx, one); err != nil {
		return nil, err
	}
	if one.harm.Dropped {
		return nil, faultbook.ErrDropped
	}
	_, body, err := o.read(ctx, one, from.Bucket, from.Key, true)
	if err != nil {
		return nil, err
	}
	content := s.db.faults.Damage(one.subject(), &one.harm, body)
	return struct {
		io.Reader
		io.Closer
	}{s.db.faults.SlowCopy(ctx, s.db.clock, content, one.harmed(), c.harmed()), body}, nil
}

// of is a call that is made as a part of this one.
func (c *call) of(verb, id string) *call {
	return &call{identity: c.identity, scope: c.scope, verb: verb, kind: c.kind, id: id, requestID: c.requestID}
}
