package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
)

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
	revisions, states := writeChanges(t, etcd.Client, s)
	stop()
	etcd.Stop(t)

	left := bucket.Copy()
	restoresWithOneReadOfEach(t, left.Copy())
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

// restoresWithOneReadOfEach: a restore lists the bucket once and the objects of its epoch once, and reads each object
// that it needs once.
func restoresWithOneReadOfEach(t *testing.T, bucket *etcdtest.Bucket) {
	t.Helper()
	manifest, err := backup.EnsureManifest(t.Context(), bucket, bucket, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"list ", "get epochs/2.json", "list e2/"}
	for _, object := range manifest.Objects {
		want = append(want, "get "+object.Key())
	}
	before := len(bucket.Asked())
	if _, _, err := restore(t, bucket, 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, bucket.Asked()[before:]); diff != "" {
		t.Errorf("asked of the bucket (-want +got):\n%s", diff)
	}
}

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
		t.Errorf("a watch from revision %d does not say that it is compacted: %+v", revision, response)
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

func TestDamagedOrMissingObjectIsNamed(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &etcdtest.Bucket{}
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	revisions, states := writeChanges(t, etcd.Client, s)
	stop()
	etcd.Stop(t)
	objects, err := backup.ObjectsOf(t.Context(), bucket, 1)
	if err != nil {
		t.Fatal(err)
	}
	full, harmedDelta, before := objects[0], objects[len(objects)-2], len(revisions)-3
	for name, tc := range map[string]struct {
		harm  func(*etcdtest.Bucket)
		cause error
		key   string
	}{
		"damaged delta": {func(b *etcdtest.Bucket) { b.Damage(harmedDelta.Key()) }, backup.ErrDigest, harmedDelta.Key()},
		"delta missing at restore": {func(b *etcdtest.Bucket) {
			if _, err := backup.EnsureManifest(context.Background(), b, b, 2); err != nil {
				t.Error(err)
			}
			_ = b.Delete(context.Background(), harmedDelta.Key())
		}, backup.ErrNotFound, harmedDelta.Key()},
		"missing snapshot": {func(b *etcdtest.Bucket) {
			_ = b.Delete(context.Background(), full.Key())
		}, backup.ErrNotFound, "e1/full-…"},
		"manifest of deltas alone": {func(b *etcdtest.Bucket) {
			manifest, err := json.Marshal(backup.Manifest{Epoch: 2, From: 1, Objects: objects[1:]})
			if err != nil {
				t.Error(err)
			}
			if err := b.Create(context.Background(), "epochs/2.json", bytes.NewReader(manifest)); err != nil {
				t.Error(err)
			}
		}, backup.ErrNotFound, "e1/full-…"},
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
		if err := harmed.Delete(t.Context(), harmedDelta.Key()); err != nil {
			t.Fatal(err)
		}
		_, _, err := restore(t, harmed, 2)
		var gap *backup.GapError
		if !errors.As(err, &gap) || gap.First != harmedDelta.First || gap.Last != harmedDelta.Last {
			t.Errorf("error is %v, want the gap %d to %d", err, harmedDelta.First, harmedDelta.Last)
		}
	})
	t.Run("last good", func(t *testing.T) {
		t.Parallel()
		harmed := bucket.Copy()
		harmed.Damage(harmedDelta.Key())
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
