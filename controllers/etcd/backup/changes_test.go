package backup_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
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
		s[string(kv.Key)] = fmt.Sprintf("%x created %d modified %d version %d lease %x", kv.Value, kv.CreateRevision,
			kv.ModRevision, kv.Version, kv.Lease)
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

func sidecar(t *testing.T, etcd *etcdtest.Etcd, bucket backup.Bucket, epoch int64,
	change ...func(*backup.Options)) (s *backup.Sidecar, stop func()) {
	t.Helper()
	options := backup.Options{
		Client: etcd.Client, Bucket: bucket, Epoch: epoch, TempDir: t.TempDir(),
		MayEnd: func() error { return nil }, MayDelete: func() bool { return false },
		DeltaInterval: 5 * time.Millisecond, FullInterval: time.Hour, DeltaBytes: 1 << 20, PendingBytes: 16 << 20,
		KeepFull: 2,
		Clock:    clock.RealClock{}, Log: testr.New(t),
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
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("still waiting for %s", what)
}

// saved waits until the sidecar has everything up to the revision in the bucket.

func saved(t *testing.T, s *backup.Sidecar, revision int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("revision %d in the bucket", revision), func() bool {
		return s.Latest().Revision >= revision
	})
}

func restore(t *testing.T, bucket backup.Bucket, epoch int64, change ...func(*backup.RestoreOptions)) (string,
	backup.RestoreResult, error) {
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

// writeChanges makes changes of every sort, one revision each, and returns the state after each.
func writeChanges(t *testing.T, client *clientv3.Client, s *backup.Sidecar) (revisions []int64, states []state) {
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
			r, err := client.Txn(ctx).Then(clientv3.OpPut("/registry/c", "1"), clientv3.OpDelete("/registry/a"),
				clientv3.OpPut("/registry/d", "")).Commit()
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

func put(ctx context.Context, client *clientv3.Client, key, value string, options ...clientv3.OpOption) func() (int64,
	error) {
	return func() (int64, error) {
		r, err := client.Put(ctx, key, value, options...)
		if err != nil {
			return 0, err
		}
		return r.Header.Revision, nil
	}
}

// removeNewest removes the newest delta of epoch 1.
