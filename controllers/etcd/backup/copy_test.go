package backup_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
)

func TestCopyTakesTheChainToAnotherBucket(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	source, target := &etcdtest.Bucket{}, &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), source, source, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, source, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	if _, err := put(t.Context(), etcd.Client, "/registry/a", "one")(); err != nil {
		t.Fatal(err)
	}
	options := backup.CopyOptions{
		Source: source, Target: target, Epoch: 2, FinalOf: 1, FinalTimeout: time.Millisecond, RequireFinal: true,
		Clock: clock.RealClock{}, Log: testr.New(t),
	}
	var missing *backup.NoFinalError
	if _, err := backup.Copy(t.Context(), options); !errors.As(err, &missing) || missing.Epoch != 1 {
		t.Fatalf("copy without a final snapshot: %v", err)
	}
	if keys, _ := target.List(t.Context(), ""); len(keys) != 0 {
		t.Errorf("a copy that failed wrote %v", keys)
	}
	options.FinalTimeout = 30 * time.Second
	go func() { _, _ = s.Final(context.Background()) }() // comes while Copy waits; its error would show there
	manifest, err := backup.Copy(t.Context(), options)
	if err != nil || !manifest.Final() || manifest.From != 1 {
		t.Fatalf("manifest %+v: %v", manifest, err)
	}
	if again, err := backup.Copy(t.Context(), options); err != nil || cmp.Diff(manifest, again) != "" {
		t.Errorf("a second copy gave %+v: %v", again, err)
	}
	want := stateOf(t, etcd.Client)
	stop()
	dir, result, err := restore(t, target, 2)
	if err != nil || !result.Final {
		t.Fatalf("restored %+v: %v", result, err)
	}
	if diff := cmp.Diff(want, stateOf(t, etcdtest.Start(t, dir).Client)); diff != "" {
		t.Error(diff)
	}
}

func TestO7ManifestInheritsFromTheNewestEpochOfBothBuckets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	a, b := &etcdtest.Bucket{}, &etcdtest.Bucket{}
	full := func(bucket *etcdtest.Bucket, epoch int64) backup.Object {
		object := backup.Object{Epoch: epoch, Kind: backup.Full, Last: epoch * 100, SHA256: strings.Repeat(fmt.Sprint(epoch),
			64)}
		if err := bucket.Create(ctx, object.Key(), strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		return object
	}
	for _, step := range []struct {
		epoch          int64
		source, target *etcdtest.Bucket
		from           int64
	}{
		{1, a, a, 0}, // created on a
		{2, a, b, 1}, // moved to b
		{3, a, b, 2}, // b again, with a new epoch, after it has served: what b has counts, not what a has
		{4, b, a, 3}, // and back to a, which has old objects of its own
	} {
		manifest, err := backup.EnsureManifest(ctx, step.source, step.target, step.epoch)
		if err != nil || manifest.From != step.from {
			t.Fatalf("epoch %d inherits from %d: %v", step.epoch, manifest.From, err)
		}
		if step.from > 0 && (len(manifest.Objects) != 1 || manifest.Objects[0].Epoch != step.from) {
			t.Errorf("epoch %d starts from %+v", step.epoch, manifest.Objects)
		}
		full(step.target, step.epoch)
	}
	var superseded *backup.SupersededError
	if _, err := backup.EnsureManifest(ctx, b, b, 2); !errors.As(err, &superseded) || superseded.By != 3 {
		t.Errorf("an old epoch made a manifest: %v", err)
	}
}

func TestCopyRefusesADamagedObject(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	source, target := &etcdtest.Bucket{}, &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), source, source, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, source, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	stop()
	key := s.Latest().Full.Key
	source.Damage(key)
	_, err := backup.Copy(t.Context(), backup.CopyOptions{Source: source, Target: target, Epoch: 2,
		Clock: clock.RealClock{}, Log: testr.New(t)})
	var damage *backup.DamageError
	if !errors.As(err, &damage) || damage.Key != key {
		t.Errorf("error is %v, want damage of %s", err, key)
	}
	if objects, _ := backup.ObjectsOf(t.Context(), target, 1); len(objects) != 0 {
		t.Errorf("the damaged object was copied: %v", objects)
	}
	// Whoever comes next would otherwise believe that everything is here.
	if epochs, err := backup.Epochs(t.Context(), target); err != nil || len(epochs) != 0 {
		t.Errorf("a copy that failed has left manifests of %v: %v", epochs, err)
	}
}

// What is behind a damaged delta is needed all the same when a full snapshot has begun a new chain meanwhile; and
// without a full snapshot that is whole nothing is taken over: etcd would begin empty, and the source's backups would
// be removed.
func TestCopyWithoutWhatIsDamaged(t *testing.T) {
	t.Parallel()
	full, delta := func(last int64) backup.Object { return backup.Object{Kind: backup.Full, Last: last} },
		func(first, last int64) backup.Object {
			return backup.Object{Kind: backup.Delta, First: first, Last: last}
		}
	final := backup.Object{Kind: backup.Full, Last: 50, Final: true}
	for name, c := range map[string]struct {
		objects          []backup.Object
		damaged, leftOut []int // of the objects
		err              []int
		missing          string // key
	}{
		"a delta": {objects: []backup.Object{full(10), delta(11, 20),
			delta(21, 30), full(30), delta(31, 40)}, damaged: []int{1}, leftOut: []int{1, 2}},
		"the newest full snapshot": {objects: []backup.Object{full(10), delta(11, 20), full(20),
			delta(21, 30)}, damaged: []int{2}, leftOut: []int{2}},
		"a delta that is not there": {objects: []backup.Object{full(10), delta(21, 30),
			delta(31, 40)}, leftOut: []int{1, 2}},
		"a full one that began anew": {objects: []backup.Object{full(10), delta(11, 15), full(20),
			delta(21, 30)}, damaged: []int{2}, leftOut: []int{2, 3}},
		"deltas of another writer": {objects: []backup.Object{full(10), delta(11, 20),
			delta(12, 18), delta(31, 40), delta(32, 36)}, leftOut: []int{4, 3}},
		"the first full snapshot": {objects: []backup.Object{full(10), delta(11, 20), full(20),
			delta(21, 30)}, damaged: []int{0}, leftOut: []int{0}},
		"the only full snapshot": {objects: []backup.Object{full(10), delta(11, 20)},
			damaged: []int{0}, err: []int{0}},
		"all full snapshots": {objects: []backup.Object{full(10), delta(11, 20), full(20),
			delta(21, 30)}, damaged: []int{0, 2}, err: []int{0, 2}},
		"the final snapshot": {objects: []backup.Object{full(10), delta(11, 20), final},
			damaged: []int{2}, leftOut: []int{2}},
		"the final one, and a delta": {objects: []backup.Object{full(10), delta(11, 20),
			delta(21, 30), final}, damaged: []int{1, 3}, leftOut: []int{3, 1, 2}},
		"the final one, and no other": {objects: []backup.Object{final}, damaged: []int{0},
			err: []int{0}},
		"a full one that is not there": {objects: []backup.Object{delta(11, 20), delta(21, 30)},
			missing: "e1/full-…"},
		"the final one, and the full one behind it is not there": {objects: []backup.Object{delta(11, 20), final},
			damaged: []int{1}, err: []int{1}, missing: "e1/full-…"},
		"the final one, and all that is behind it": {objects: []backup.Object{full(10), delta(11, 20), final},
			damaged: []int{0, 2}, err: []int{0, 2}},
	} {
		for where, target := range map[string]*etcdtest.Bucket{"to another bucket": {}, "where it is": nil} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				source := &etcdtest.Bucket{}
				if target == nil {
					target = source
				}
				if _, err := backup.EnsureManifest(t.Context(), source, source, 1); err != nil {
					t.Fatal(err)
				}
				var all []string // keys
				for _, object := range c.objects {
					object.Epoch, object.SHA256 = 1, fmt.Sprintf("%x", sha256.Sum256([]byte("x")))
					if err := source.Create(t.Context(), object.Key(), strings.NewReader("x")); err != nil {
						t.Fatal(err)
					}
					all = append(all, object.Key())
				}
				keys := func(which []int) (keys []string) {
					for _, i := range which {
						keys = append(keys, all[i])
					}
					return keys
				}
				for _, key := range keys(c.damaged) {
					source.Damage(key)
				}
				readable := backup.Readable(t.Context(), source)
				manifest, err := backup.Copy(t.Context(), backup.CopyOptions{Source: source, Target: target, Epoch: 2,
					LastGood: true, Clock: clock.RealClock{}, Log: testr.New(t)})
				named := keys(c.err)
				if c.missing != "" {
					named = append(named, c.missing)
				}
				// Who asks before has the same answer.
				for _, err := range []error{readable, err} {
					if (err != nil) != (len(named) > 0) {
						t.Fatalf("error is %v, want one that names %v", err, named)
					}
					for _, key := range named {
						if !strings.Contains(err.Error(), key) {
							t.Errorf("error is %v, want one that names %s", err, key)
						}
					}
				}
				if epochs, _ := backup.Epochs(t.Context(), target); err != nil && slices.Contains(epochs, 2) {
					t.Errorf("a copy that failed has left manifests of %v", epochs)
				}
				var leftOut []string
				for _, object := range manifest.LeftOut {
					leftOut = append(leftOut, object.Key())
				}
				if diff := cmp.Diff(keys(c.leftOut), leftOut); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestCopyLeavesOutWhatIsDamagedWhenAsked(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	source, target := &etcdtest.Bucket{}, &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), source, source, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, source, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	revisions, states := writeChanges(t, etcd.Client, s)
	stop()
	source.Damage(s.Latest().Delta.Key)
	before := len(revisions) - 2
	for _, bucket := range []*etcdtest.Bucket{target, source} { // the last one where it is, beside the damage
		options := backup.CopyOptions{Source: source, Target: bucket, Epoch: 2, LastGood: true, Clock: clock.RealClock{},
			Log: testr.New(t)}
		if _, err := backup.Copy(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		// The manifest does not name it, so that a restore need not be asked to do without, nor one of the next epoch.
		dir, result, err := restore(t, bucket, 2)
		if err != nil || result.Revision != revisions[before] {
			t.Fatalf("restored %+v: %v, want revision %d", result, err, revisions[before])
		}
		if diff := cmp.Diff(states[before], stateOf(t, etcdtest.Start(t, dir).Client)); diff != "" {
			t.Error(diff)
		}
	}
}

// What an epoch starts from is fixed: who looks again, when it may have served, finds what it has found, whatever has
// become of it.
func TestCopyKeepsTheManifestThatAnEpochHas(t *testing.T) {
	t.Parallel()
	bucket := &etcdtest.Bucket{}
	full := backup.Object{Epoch: 1, Kind: backup.Full, Last: 10, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("x")))}
	_, first := backup.EnsureManifest(t.Context(), bucket, bucket, 1)
	created := bucket.Create(t.Context(), full.Key(), strings.NewReader("x"))
	made, second := backup.EnsureManifest(t.Context(), bucket, bucket, 2)
	if err := errors.Join(first, created, second); err != nil {
		t.Fatal(err)
	}
	bucket.Damage(full.Key())
	for _, lastGood := range []bool{false, true} {
		manifest, err := backup.Copy(t.Context(), backup.CopyOptions{Source: bucket, Target: bucket, Epoch: 2,
			LastGood: lastGood, Clock: clock.RealClock{}, Log: testr.New(t)})
		if diff := cmp.Diff(made, manifest); diff != "" || err != nil || len(manifest.Objects) != 1 {
			t.Errorf("%v %s", err, diff)
		}
	}
}

// cutOff is a bucket whose objects break off, as they do when the line to it does.
type cutOff struct{ *etcdtest.Bucket }

func (b cutOff) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := b.Bucket.Get(ctx, key)
	if object, is := backup.ParseKey(key); err == nil && is && object.Kind == backup.Delta {
		return io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), body.Close()
	}
	return body, err
}

// What could not be read is not damaged: it is left out of nothing.
func TestWhatBreaksOffIsNoDamage(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	writeChanges(t, etcd.Client, s)
	stop()
	cut := cutOff{bucket}
	_, copied := backup.Copy(t.Context(), backup.CopyOptions{Source: cut, Target: cut, Epoch: 2, LastGood: true,
		Clock: clock.RealClock{}, Log: testr.New(t)})
	if epochs, err := backup.Epochs(t.Context(), bucket); err != nil || slices.Contains(epochs, 2) {
		t.Errorf("a copy that broke off has left manifests of %v: %v", epochs, err)
	}
	_, _, restored := restore(t, cut, 2, func(o *backup.RestoreOptions) { o.LastGood = true })
	for what, err := range map[string]error{"copy": copied, "restore": restored} {
		if _, damage := errors.AsType[*backup.DamageError](err); damage || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// asked counts the requests to a bucket.
type asked struct {
	backup.Bucket
	lists, gets, puts, takes atomic.Int64
}

func (a *asked) List(ctx context.Context, prefix string) ([]string, error) {
	a.lists.Add(1)
	return a.Bucket.List(ctx, prefix)
}

func (a *asked) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	a.gets.Add(1)
	return a.Bucket.Get(ctx, key)
}

func (a *asked) Create(ctx context.Context, key string, content io.Reader) error {
	a.puts.Add(1)
	return a.Bucket.Create(ctx, key, content)
}

func (a *asked) Take(ctx context.Context, from backup.Bucket, objects []backup.Object) ([]error, error) {
	a.takes.Add(1)
	return a.Bucket.Take(ctx, from.(*asked).Bucket, objects)
}

// A look at a bucket lists it once, whatever it asks of its keys. A copy has one request for all objects beside that,
// and two for its manifest.
func TestLooksAtABucket_ListItOnce(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	source, target := &asked{Bucket: &etcdtest.Bucket{}}, &asked{Bucket: &etcdtest.Bucket{}}
	if _, err := backup.EnsureManifest(t.Context(), source.Bucket, source.Bucket, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, source.Bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	if _, err := put(t.Context(), etcd.Client, "/registry/a", "one")(); err != nil {
		t.Fatal(err)
	}
	saved(t, s, revisionOf(t, etcd.Client)) // a full snapshot and a delta
	stop()
	var objects int64
	for _, look := range []struct {
		name               string
		do                 func(context.Context) error
		lists, gets, puts  int64 // of the source, and of the target where it matters
		fromTarget, copies bool
	}{
		{name: "check", lists: 1, do: func(ctx context.Context) error { return backup.Check(ctx, source) }},
		{name: "readable", lists: 1, gets: 1, do: func(ctx context.Context) error { return backup.Readable(ctx, source) }},
		{name: "copy", lists: 1, copies: true, do: func(ctx context.Context) error {
			manifest, err := backup.Copy(ctx, backup.CopyOptions{Source: source, Target: target, Epoch: 2,
				Clock: clock.RealClock{}, Log: testr.New(t)})
			objects = int64(len(manifest.Objects))
			return err
		}},
		{name: "manifest", lists: 1, gets: 1, fromTarget: true, do: func(ctx context.Context) error {
			_, err := backup.EnsureManifest(ctx, target, target, 2)
			return err
		}},
	} {
		for _, bucket := range []*asked{source, target} {
			bucket.lists.Store(0)
			bucket.gets.Store(0)
			bucket.puts.Store(0)
		}
		if err := look.do(t.Context()); err != nil {
			t.Fatalf("%s: %v", look.name, err)
		}
		bucket := source
		if look.fromTarget {
			bucket = target
		}
		if look.copies {
			if target.lists.Load() != 1 || target.puts.Load() != 1 || target.gets.Load() != 1 || target.takes.Load() != 1 ||
				objects < 2 {
				t.Errorf("copy of %d objects: %d lists, %d puts, %d gets and %d copies of the target", objects,
					target.lists.Load(), target.puts.Load(), target.gets.Load(), target.takes.Load())
			}
		}
		if bucket.lists.Load() != look.lists || bucket.gets.Load() != look.gets || bucket.puts.Load() != look.puts {
			t.Errorf("%s: %d lists, %d gets, %d puts", look.name, bucket.lists.Load(), bucket.gets.Load(), bucket.puts.Load())
		}
	}
}
