package backup_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
)

func TestBytesOfADeltaAreBoundedByItsWrites(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	s, _ := sidecar(t, etcd, bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	written := map[int64]int{}
	var last int64
	for i := range 50 {
		value := make([]byte, rand.IntN(20_000))
		for j := range value {
			value[j] = byte(rand.Uint32()) // nothing to compress
		}
		key := fmt.Sprintf("/registry/%d", i)
		revision, err := put(t.Context(), etcd.Client, key, string(value))()
		if err != nil {
			t.Fatal(err)
		}
		written[revision], last = len(key)+len(value), revision
	}
	saved(t, s, last)
	objects, err := backup.ObjectsOf(t.Context(), bucket, 1)
	if err != nil {
		t.Fatal(err)
	}
	deltas := 0
	for _, object := range objects {
		if object.Kind != backup.Delta {
			continue
		}
		deltas++
		bound := 200 // of gzip and header
		for revision := object.First; revision <= object.Last; revision++ {
			bound += written[revision] + written[revision]/1000 + 100 // of an event's own fields
		}
		if size := bucket.Size(object.Key()); size > bound {
			t.Errorf("delta %s has %d bytes, its writes allow %d", object.Key(), size, bound)
		}
	}
	if deltas == 0 {
		t.Error("there is no delta")
	}
}

func TestO11FinalSnapshotEndsTheEpoch(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	allowed := errors.New("not yet")
	s, stop := sidecar(t, etcd, bucket, 1, func(o *backup.Options) { o.MayEnd = func() error { return allowed } })
	if _, err := s.Final(t.Context()); !errors.Is(err, allowed) {
		t.Fatalf("a final snapshot was taken without leave: %v", err)
	}
	revision, err := put(t.Context(), etcd.Client, "/registry/a", "one")()
	if err != nil {
		t.Fatal(err)
	}
	allowed = nil
	final, err := s.Final(t.Context())
	if err != nil || !final.Final || final.Last < revision {
		t.Fatalf("final snapshot %+v: %v", final, err)
	}
	if again, err := s.Final(t.Context()); err != nil || again != final {
		t.Errorf("a second final snapshot %+v: %v", again, err)
	}
	// What is written now belongs to no chain.
	if _, err := put(t.Context(), etcd.Client, "/registry/a", "late")(); err != nil {
		t.Fatal(err)
	}
	stop()
	s, _ = sidecar(t, etcd, bucket, 1)
	eventually(t, "the restarted sidecar to find the end", func() bool { return s.Latest().Final })
	if _, err := s.Full(t.Context()); err == nil {
		t.Error("an ended epoch took another full snapshot")
	}
	_, result, err := restore(t, bucket, 2)
	if err != nil || !result.Final || result.Revision != final.Last {
		t.Errorf("restored %+v: %v", result, err)
	}
	if found, err := backup.FinalSnapshot(t.Context(), bucket, 2); err != nil || found != nil {
		t.Errorf("epoch 2 has the final snapshot %v: %v", found, err)
	}
}

func TestO7LateUploadsOfAnOlderEpochBelongToNoChain(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	s, _ := sidecar(t, etcd, bucket, 1)
	revision, err := put(t.Context(), etcd.Client, "/registry/a", "one")()
	if err != nil {
		t.Fatal(err)
	}
	saved(t, s, revision)
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 2); err != nil {
		t.Fatal(err)
	}
	// The zombie goes on.
	late, err := put(t.Context(), etcd.Client, "/registry/a", "zombie")()
	if err != nil {
		t.Fatal(err)
	}
	saved(t, s, late)
	if _, result, err := restore(t, bucket.Copy(), 2); err != nil || result.Revision != revision {
		t.Errorf("epoch 2 restored %+v: %v", result, err)
	}
	// Epoch 2 made its manifest and died before its first snapshot; epoch 3 starts from the same objects.
	if _, result, err := restore(t, bucket.Copy(), 3); err != nil || result.Revision != revision {
		t.Errorf("epoch 3 restored %+v: %v", result, err)
	}
}

func TestSidecarGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	s, stop := sidecar(t, etcd, bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	stop()
	revision, err := put(t.Context(), etcd.Client, "/registry/a", "meanwhile")()
	if err != nil {
		t.Fatal(err)
	}
	s, stop = sidecar(t, etcd, bucket, 1)
	saved(t, s, revision)
	stop()
	kinds := kindsOf(t, bucket)
	if diff := cmp.Diff([]backup.Kind{backup.Full, backup.Delta}, kinds); diff != "" {
		t.Errorf("objects after a restart:\n%s", diff)
	}
	// Compacted meanwhile: deltas can no longer continue, so a full snapshot does.
	for i := range 5 {
		if revision, err = put(t.Context(), etcd.Client, "/registry/a", fmt.Sprint(i))(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := etcd.Client.Compact(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	s, _ = sidecar(t, etcd, bucket, 1)
	saved(t, s, revision)
	if kinds = kindsOf(t, bucket); kinds[len(kinds)-1] != backup.Full {
		t.Errorf("objects after a compaction: %v", kinds)
	}
}

func kindsOf(t *testing.T, bucket backup.Bucket) []backup.Kind {
	t.Helper()
	objects, err := backup.ObjectsOf(t.Context(), bucket, 1)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []backup.Kind
	for _, object := range objects {
		kinds = append(kinds, object.Kind)
	}
	return kinds
}

// However often the time for a delta comes: nothing is asked of the bucket, and nothing put there, without a change.
func TestStream_NothingHasChanged_LeavesBucketAlone(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	clock := testingclock.NewFakeClock(time.Now())
	s, _ := sidecar(t, etcd, bucket, 1, func(o *backup.Options) { o.Clock = clock })
	saved(t, s, revisionOf(t, etcd.Client))
	asked, objects := len(bucket.Asked()), len(bucket.Keys())
	for range 100 {
		clock.Step(5 * time.Millisecond)
	}
	revision, err := put(t.Context(), etcd.Client, "/registry/a", "changed")()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the delta", func() bool {
		clock.Step(5 * time.Millisecond)
		return s.Latest().Revision >= revision
	})
	if got := len(bucket.Keys()); got != objects+1 || len(bucket.Asked()) != asked {
		t.Errorf("%d objects before a change, %d after it; asked %v", objects, got, bucket.Asked()[asked:])
	}
}

func TestUnreachableBucketLosesNothing(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, bucket, 1, func(o *backup.Options) { o.PendingBytes = 100_000 })
	saved(t, s, revisionOf(t, etcd.Client))
	bucket.Down(true)
	var revision int64
	var err error
	for i := range 3 {
		if revision, err = put(t.Context(), etcd.Client, "/registry/a", fmt.Sprint(i))(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the sidecar to say that it fails", func() bool {
		return strings.Contains(s.Latest().Error, etcdtest.ErrBucketDown.Error())
	})
	bucket.Down(false)
	saved(t, s, revision)

	// More than may wait: the deltas are given up for a full snapshot.
	bucket.Down(true)
	for i := range 20 {
		if revision, err = put(t.Context(), etcd.Client, "/registry/big",
			string(bytes.Repeat([]byte{byte(i)}, 10_000)))(); err != nil {
			t.Fatal(err)
		}
	}
	bucket.Down(false)
	saved(t, s, revision)
	want := stateOf(t, etcd.Client)
	stop()
	dir, _, err := restore(t, bucket, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stateOf(t, etcdtest.Start(t, dir).Client)); diff != "" {
		t.Error(diff)
	}
}

func TestOldObjectsAreRemovedOnlyByTheValidOwner(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	run := func(owner bool) int {
		s, stop := sidecar(t, etcd, bucket, 1, func(o *backup.Options) {
			o.FullInterval = 20 * time.Millisecond
			o.MayDelete = func() bool { return owner }
		})
		for range 4 {
			revision, err := put(t.Context(), etcd.Client, "/registry/a", "x")()
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the next full snapshot", func() bool { return s.Latest().Full.Revision >= revision })
		}
		stop()
		fulls := 0
		for _, kind := range kindsOf(t, bucket) {
			if kind == backup.Full {
				fulls++
			}
		}
		return fulls
	}
	if fulls := run(false); fulls < 4 {
		t.Errorf("%d full snapshots are left although nobody may delete", fulls)
	}
	if fulls := run(true); fulls > 3 { // two, and one that came after the last removal
		t.Errorf("%d full snapshots are left, want 2", fulls)
	}
}
