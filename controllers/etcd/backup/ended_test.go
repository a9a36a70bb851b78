package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// fencedEpoch is the data directory and the bucket of epoch 1, which its owner has fenced, with or without a final
// snapshot.
func fencedEpoch(t *testing.T, final bool) (dir string, bucket *etcdtest.Bucket, fenced validity.Memory) {
	t.Helper()
	dir, bucket = filepath.Join(t.TempDir(), "etcd"), &etcdtest.Bucket{}
	if _, _, err := restore(t, bucket, 1, func(o *backup.RestoreOptions) { o.DataDir = dir }); err != nil {
		t.Fatal(err)
	}
	etcd := etcdtest.Start(t, dir)
	s, stop := sidecar(t, etcd, bucket, 1)
	revision, err := put(t.Context(), etcd.Client, "/registry/a", "one")()
	if err != nil {
		t.Fatal(err)
	}
	saved(t, s, revision)
	fenced = validity.Memory{Owner: "uid-a", Epoch: 1, Served: true, Fence: &validity.Fence{Revoked: true}}
	if err := datadir.Dir(dir).WriteMemory(fenced); err != nil {
		t.Fatal(err)
	}
	if final {
		if _, err := s.Final(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	etcd.Stop(t)
	return dir, bucket, fenced
}

// harms are the ways in which the data of an epoch may be lost.
var harms = map[string]func(dir string) error{
	"database lost": func(dir string) error { return os.Remove(filepath.Join(dir, "member", "snap", "db")) },
	"database damaged": func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "member", "snap", "db"), make([]byte, 1<<16), 0o600)
	},
	"data lost":   func(dir string) error { return os.RemoveAll(filepath.Join(dir, "member")) },
	"volume lost": os.RemoveAll,
}

// An epoch that was fenced is never served again (docs/ownership.md#o3). Its data would come back without what was
// remembered of the fence, and both authorities may name it still: a planned migration waits for its destination.
func TestO3AnEpochWithAFinalSnapshotIsNotRestoredForItself(t *testing.T) {
	t.Parallel()
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, bucket, _ := fencedEpoch(t, true)
			if err := harm(dir); err != nil {
				t.Fatal(err)
			}
			here := func(o *backup.RestoreOptions) { o.DataDir = dir }
			var ended *backup.EndedError
			if _, result, err := restore(t, bucket, 1, here); !errors.As(err, &ended) || ended.Epoch != 1 {
				t.Errorf("restored %+v: %v", result, err)
			}
			// Who aborts the migration goes on from the final snapshot, with a new epoch (docs/ownership.md#o11).
			if _, result, err := restore(t, bucket, 2, here); err != nil || !result.Final || result.From != 1 {
				t.Errorf("epoch 2 restored %+v: %v", result, err)
			}
			if memory, err := datadir.Dir(dir).ReadMemory(); err != nil || memory.Fence != nil {
				t.Errorf("epoch 2 begins with %+v: %v", memory, err)
			}
		})
	}
}

// As long as there is no final snapshot, the epoch's data is made anew to take it.
func TestO3AFenceIsKeptWhenItsDataIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, harm := range harms {
		if name == "volume lost" {
			continue // and the fence with it: nothing shows it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, bucket, fenced := fencedEpoch(t, false)
			if err := harm(dir); err != nil {
				t.Fatal(err)
			}
			_, result, err := restore(t, bucket, 1, func(o *backup.RestoreOptions) { o.DataDir = dir })
			if err != nil || result.Kept || result.From != 1 {
				t.Fatalf("restored %+v: %v", result, err)
			}
			memory, err := datadir.Dir(dir).ReadMemory()
			if diff := cmp.Diff(fenced, memory); err != nil || diff != "" {
				t.Errorf("the guard remembers: %v\n%s", err, diff)
			}
			if len(stateOf(t, etcdtest.Start(t, dir).Client)) != 1 {
				t.Error("the key is lost")
			}
		})
	}
}

// What the guard remembers is of no use for a fence if it cannot be read; then it counts what is in the bucket.
func TestAnUnreadableMemoryOfTheGuardIsReplacedWithTheData(t *testing.T) {
	t.Parallel()
	dir, bucket, _ := fencedEpoch(t, false)
	for path, content := range map[string]string{"ownership/guard.json": "", "member/snap/db": "damaged"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, result, err := restore(t, bucket, 1, func(o *backup.RestoreOptions) {
		o.DataDir = dir
	}); err != nil || result.From != 1 {
		t.Errorf("restored %+v: %v", result, err)
	}
}
