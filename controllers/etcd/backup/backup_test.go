package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
)

// state is all keys of an etcd with everything that a client can see of them.
type state map[string]string

func stateOf(t *testing.T, client *clientv3.Client, options ...clientv3.OpOption) state {
	t.Helper()
	answer, err := client.Get(t.Context(), "", append(options, clientv3.WithPrefix())...)
	if err != nil {
		t.Fatal(err)
	}
	s := state{}
	for _, kv := range answer.Kvs {
		s[string(kv.Key)] = fmt.Sprintf("%x created %d modified %d version %d lease %x", kv.Value, kv.CreateRevision, kv.ModRevision, kv.Version, kv.Lease)
	}
	return s
}

func revisionOf(t *testing.T, client *clientv3.Client) int64 {
	t.Helper()
	answer, err := client.Get(t.Context(), "ready?")
	if err != nil {
		t.Fatal(err)
	}
	return answer.Header.Revision
}

// sidecar runs one over the etcd until the test ends or stop is called.
func sidecar(t *testing.T, etcd *etcdtest.Etcd, bucket backup.Bucket, epoch int64, change ...func(*backup.Options)) (s *backup.Sidecar, stop func()) {
	t.Helper()
	options := backup.Options{
		Client: etcd.Client, Bucket: bucket, Epoch: epoch, TempDir: t.TempDir(),
		MayEnd: func() error { return nil }, MayDelete: func() bool { return false },
		DeltaInterval: 5 * time.Millisecond, FullInterval: time.Hour, DeltaBytes: 1 << 20, PendingBytes: 16 << 20, KeepFull: 2,
		Clock: clock.RealClock{}, Log: testr.New(t),
	}
	for _, f := range change {
		f(&options)
	}
	s = backup.NewSidecar(options)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the sidecar ended with %v", err)
		}
	}
	t.Cleanup(stop)
	return s, stop
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("still waiting for %s", what)
}

// saved waits until the sidecar has everything up to the revision in the bucket.
func saved(t *testing.T, s *backup.Sidecar, revision int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("revision %d in the bucket", revision), func() bool { return s.Latest().Revision >= revision })
}

func restore(t *testing.T, bucket backup.Bucket, epoch int64, change ...func(*backup.RestoreOptions)) (string, backup.RestoreResult, error) {
	t.Helper()
	options := backup.RestoreOptions{
		Bucket: bucket, Epoch: epoch, DataDir: filepath.Join(t.TempDir(), "etcd"), MemberName: "etcd-main",
		PeerURL: "http://127.0.0.1:2380", RevisionBump: 1000, Log: testr.New(t),
	}
	for _, f := range change {
		f(&options)
	}
	result, err := backup.Restore(t.Context(), options)
	return options.DataDir, result, err
}

// writeStory makes changes of every sort, one revision each, and returns the state after each.
func writeStory(t *testing.T, client *clientv3.Client, s *backup.Sidecar) (revisions []int64, states []state) {
	t.Helper()
	ctx := t.Context()
	lease, err := client.Grant(ctx, 600)
	if err != nil {
		t.Fatal(err)
	}
	binary := make([]byte, 3000)
	for i := range binary {
		binary[i] = byte(rand.Uint32())
	}
	changes := []func() (int64, error){
		put(ctx, client, "/registry/a", "one"),
		put(ctx, client, "/registry/b", string(binary)),
		put(ctx, client, "/registry/a", "two"),
		put(ctx, client, "/registry/events/e", "leased", clientv3.WithLease(lease.ID)),
		func() (int64, error) {
			r, err := client.Txn(ctx).Then(clientv3.OpPut("/registry/c", "1"), clientv3.OpDelete("/registry/a"), clientv3.OpPut("/registry/d", "")).Commit()
			return r.Header.GetRevision(), err
		},
		func() (int64, error) {
			r, err := client.Delete(ctx, "/registry/", clientv3.WithPrefix())
			return r.Header.GetRevision(), err
		},
		put(ctx, client, "/registry/a", "three"),
	}
	for i, change := range changes {
		revision, err := change()
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		saved(t, s, revision)
		revisions = append(revisions, revision)
		states = append(states, stateOf(t, client, clientv3.WithRev(revision)))
	}
	return revisions, states
}

func put(ctx context.Context, client *clientv3.Client, key, value string, options ...clientv3.OpOption) func() (int64, error) {
	return func() (int64, error) {
		r, err := client.Put(ctx, key, value, options...)
		if err != nil {
			return 0, err
		}
		return r.Header.Revision, nil
	}
}

func TestRemovingTheNewestDeltasGivesExactlyTheOlderStates(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := etcd.Client.Put(t.Context(), fmt.Sprintf("/registry/before/%d", i), strings.Repeat("x", i)); err != nil {
			t.Fatal(err)
		}
	}
	s, stop := sidecar(t, etcd, bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	revisions, states := writeStory(t, etcd.Client, s)
	stop()
	etcd.Stop(t)

	left := bucket.Copy()
	for i := len(revisions) - 1; i >= 0; i-- {
		dir, result, err := restore(t, left.Copy(), 2)
		if err != nil {
			t.Fatalf("restore of revision %d: %v", revisions[i], err)
		}
		if result.Revision != revisions[i] || result.From != 1 || result.Final {
			t.Errorf("restored %+v, want revision %d of epoch 1", result, revisions[i])
		}
		restored := etcdtest.Start(t, dir)
		if diff := cmp.Diff(states[i], stateOf(t, restored.Client)); diff != "" {
			t.Errorf("state of revision %d (- source, + restored):\n%s", revisions[i], diff)
		}
		restored.Stop(t)
		removeNewest(t, left)
	}
}

// removeNewest removes the newest delta of epoch 1.
func removeNewest(t *testing.T, bucket *etcdtest.Bucket) {
	t.Helper()
	objects, err := backup.ObjectsOf(t.Context(), bucket, 1)
	if err != nil {
		t.Fatal(err)
	}
	newest := objects[len(objects)-1]
	if newest.Kind != backup.Delta {
		t.Fatalf("the newest object is %s, not a delta", newest.Key())
	}
	if err := bucket.Delete(t.Context(), newest.Key()); err != nil {
		t.Fatal(err)
	}
}

func TestRestoreBumpsTheRevisionAndCompactsTheOldOnes(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	s, stop := sidecar(t, etcd, bucket, 1)
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	revision, err := put(t.Context(), etcd.Client, "/registry/a", "one")()
	if err != nil {
		t.Fatal(err)
	}
	saved(t, s, revision)
	stop()
	dir, result, err := restore(t, bucket, 2)
	if err != nil {
		t.Fatal(err)
	}
	restored := etcdtest.Start(t, dir)
	if got := revisionOf(t, restored.Client); got < result.Revision+1000 {
		t.Errorf("etcd goes on at revision %d, want at least %d", got, result.Revision+1000)
	}
	watch := restored.Client.Watch(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithRev(revision))
	if response := <-watch; response.CompactRevision < result.Revision+1000 {
		t.Errorf("a watch from revision %d is not told that it is compacted: %+v", revision, response)
	}
}

func TestLeaseOfADeltaLivesOnAfterTheRestore(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	lease, err := etcd.Client.Grant(t.Context(), 777)
	if err != nil {
		t.Fatal(err)
	}
	revision, err := put(t.Context(), etcd.Client, "/registry/events/e", "x", clientv3.WithLease(lease.ID))()
	if err != nil {
		t.Fatal(err)
	}
	saved(t, s, revision)
	stop()
	dir, _, err := restore(t, bucket, 2)
	if err != nil {
		t.Fatal(err)
	}
	restored := etcdtest.Start(t, dir)
	answer, err := restored.Client.TimeToLive(t.Context(), lease.ID, clientv3.WithAttachedKeys())
	if err != nil {
		t.Fatal(err)
	}
	if answer.GrantedTTL != 777 || len(answer.Keys) != 1 || string(answer.Keys[0]) != "/registry/events/e" {
		t.Errorf("the lease has %d s and keys %q, want 777 s and its key", answer.GrantedTTL, answer.Keys)
	}
	if _, err := restored.Client.Revoke(t.Context(), lease.ID); err != nil {
		t.Fatal(err)
	}
	if left := stateOf(t, restored.Client); len(left) != 0 {
		t.Errorf("the revoked lease left %v", left)
	}
}

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

func TestDamagedOrMissingObjectIsNamed(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	revisions, states := writeStory(t, etcd.Client, s)
	stop()
	etcd.Stop(t)
	objects, err := backup.ObjectsOf(t.Context(), bucket, 1)
	if err != nil {
		t.Fatal(err)
	}
	full, broken, before := objects[0], objects[len(objects)-2], len(revisions)-3
	for name, tc := range map[string]struct {
		harm  func(*etcdtest.Bucket)
		cause error
		key   string
	}{
		"damaged delta": {func(b *etcdtest.Bucket) { b.Damage(broken.Key()) }, backup.ErrDigest, broken.Key()},
		"delta missing at restore": {func(b *etcdtest.Bucket) {
			if _, err := backup.EnsureManifest(context.Background(), b, b, 2); err != nil {
				t.Error(err)
			}
			_ = b.Delete(context.Background(), broken.Key())
		}, backup.ErrNotFound, broken.Key()},
		"damaged snapshot": {func(b *etcdtest.Bucket) { b.Damage(full.Key()) }, backup.ErrDigest, full.Key()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harmed := bucket.Copy()
			tc.harm(harmed)
			_, _, err := restore(t, harmed, 2)
			var damage *backup.DamageError
			if !errors.As(err, &damage) || damage.Key != tc.key || !errors.Is(err, tc.cause) {
				t.Errorf("error is %v, want damage of %s by %v", err, tc.key, tc.cause)
			}
		})
	}
	t.Run("delta missing in the middle", func(t *testing.T) {
		t.Parallel()
		harmed := bucket.Copy()
		if err := harmed.Delete(t.Context(), broken.Key()); err != nil {
			t.Fatal(err)
		}
		_, _, err := restore(t, harmed, 2)
		var gap *backup.GapError
		if !errors.As(err, &gap) || gap.First != broken.First || gap.Last != broken.Last {
			t.Errorf("error is %v, want the gap %d to %d", err, broken.First, broken.Last)
		}
	})
	t.Run("last good", func(t *testing.T) {
		t.Parallel()
		harmed := bucket.Copy()
		harmed.Damage(broken.Key())
		dir, result, err := restore(t, harmed, 2, func(o *backup.RestoreOptions) { o.LastGood = true })
		if err != nil {
			t.Fatal(err)
		}
		if result.Revision != revisions[before] || !errors.Is(result.Damage, backup.ErrDigest) {
			t.Errorf("restored %+v, want revision %d and the damage", result, revisions[before])
		}
		restored := etcdtest.Start(t, dir)
		if diff := cmp.Diff(states[before], stateOf(t, restored.Client)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDataDirectoryOfTheEpochIsKept(t *testing.T) {
	t.Parallel()
	bucket := &etcdtest.Bucket{}
	dir := filepath.Join(t.TempDir(), "etcd")
	here := func(o *backup.RestoreOptions) { o.DataDir = dir }
	_, result, err := restore(t, bucket, 1, here)
	if err != nil || !result.Fresh {
		t.Fatalf("first start: %+v, %v", result, err)
	}
	etcd := etcdtest.Start(t, dir)
	if _, err := put(t.Context(), etcd.Client, "/registry/a", "one")(); err != nil {
		t.Fatal(err)
	}
	etcd.Stop(t)
	if _, result, err = restore(t, bucket, 1, here); err != nil || !result.Kept {
		t.Fatalf("restart: %+v, %v", result, err)
	}
	etcd = etcdtest.Start(t, dir)
	if len(stateOf(t, etcd.Client)) != 1 {
		t.Error("the restart lost the key")
	}
	etcd.Stop(t)

	// A newer epoch on the same volume takes nothing over but what is in the bucket.
	if _, result, err = restore(t, bucket, 2, here); err != nil || result.Kept {
		t.Fatalf("next epoch: %+v, %v", result, err)
	}
	var superseded *backup.SupersededError
	if _, _, err = restore(t, bucket, 1, here); !errors.As(err, &superseded) || superseded.By != 2 {
		t.Errorf("the old epoch came back: %v", err)
	}
}

func TestFinalSnapshotEndsTheEpoch(t *testing.T) {
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

func TestLateUploadsOfAnOlderEpochBelongToNoChain(t *testing.T) {
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
	eventually(t, "the sidecar to say that it fails", func() bool { return strings.Contains(s.Latest().Error, etcdtest.ErrBucketDown.Error()) })
	bucket.Down(false)
	saved(t, s, revision)

	// More than may wait: the deltas are given up for a full snapshot.
	bucket.Down(true)
	for i := range 20 {
		if revision, err = put(t.Context(), etcd.Client, "/registry/big", string(bytes.Repeat([]byte{byte(i)}, 10_000)))(); err != nil {
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

func TestManifestInheritsFromTheNewestEpochOfBothBuckets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	a, b := &etcdtest.Bucket{}, &etcdtest.Bucket{}
	full := func(bucket *etcdtest.Bucket, epoch int64) backup.Object {
		object := backup.Object{Epoch: epoch, Kind: backup.Full, Last: epoch * 100, SHA256: strings.Repeat(fmt.Sprint(epoch), 64)}
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
	_, err := backup.Copy(t.Context(), backup.CopyOptions{Source: source, Target: target, Epoch: 2, Clock: clock.RealClock{}, Log: testr.New(t)})
	var damage *backup.DamageError
	if !errors.As(err, &damage) || damage.Key != key {
		t.Errorf("error is %v, want damage of %s", err, key)
	}
	if objects, _ := backup.ObjectsOf(t.Context(), target, 1); len(objects) != 0 {
		t.Errorf("the damaged object was copied: %v", objects)
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
	revisions, states := writeStory(t, etcd.Client, s)
	stop()
	source.Damage(s.Latest().Delta.Key)
	options := backup.CopyOptions{Source: source, Target: target, Epoch: 2, LastGood: true, Clock: clock.RealClock{}, Log: testr.New(t)}
	if _, err := backup.Copy(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	var damage *backup.DamageError
	if _, _, err := restore(t, target, 2); !errors.As(err, &damage) || damage.Key != s.Latest().Delta.Key {
		t.Errorf("a restore that was not asked to do without: %v", err)
	}
	dir, result, err := restore(t, target, 2, func(o *backup.RestoreOptions) { o.LastGood = true })
	before := len(revisions) - 2
	if err != nil || result.Revision != revisions[before] {
		t.Fatalf("restored %+v: %v, want revision %d", result, err, revisions[before])
	}
	if diff := cmp.Diff(states[before], stateOf(t, etcdtest.Start(t, dir).Client)); diff != "" {
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
