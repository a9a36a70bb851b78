package delta

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/lease/leasepb"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
)

// ErrReplay says that a delta does not fit the state it is applied to.
var ErrReplay = errors.New("the delta does not continue the state before it")

// Replay applies deltas to the database file of a snapshot, through etcd's own storage code and without a running
// etcd: every key gets the revision, version and lease it had, no lease runs out meanwhile, and no other revision can
// come between.
type Replay struct {
	backend backend.Backend
	kv      mvcc.KV
}

// OpenReplay opens a database file. It is not synced: it becomes a data directory only when a later step has copied it.
func OpenReplay(db string, log *zap.Logger) (r *Replay, err error) {
	defer func() {
		if p := recover(); p != nil { // etcd's storage panics on a file it cannot read
			err = fmt.Errorf("open the snapshot for replay: %v", p)
		}
	}()
	config := backend.DefaultBackendConfig(log)
	config.Path = db
	config.UnsafeNoFsync = true
	config.BatchInterval = time.Second
	be := backend.New(config)
	tx := be.BatchTx()
	tx.LockOutsideApply()
	schema.UnsafeCreateLeaseBucket(tx)
	tx.Unlock()
	return &Replay{backend: be, kv: mvcc.New(log, be, &lease.FakeLessor{}, mvcc.StoreConfig{})}, nil
}

// Close writes what was replayed, and closes the file.
func (r *Replay) Close() error {
	r.kv.Close()
	r.backend.ForceCommit()
	return r.backend.Close()
}

func (r *Replay) revision() int64 { return r.kv.Rev() }

// Apply replays one delta, revision by revision. What the state holds already is passed over.
func (r *Replay) Apply(ctx context.Context, content io.Reader) error {
	events, err := newReader(content)
	if err != nil {
		return err
	}
	r.grant(events.header.Leases)
	var group []*mvccpb.Event
	for ctx.Err() == nil {
		event, err := events.next()
		if errors.Is(err, io.EOF) {
			if err := r.commit(group); err != nil {
				return err
			}
			// The delta's bytes are verified at their end, which a decoder need not reach by itself.
			_, err := io.Copy(io.Discard, content)
			return err
		}
		if err != nil {
			return err
		}
		if len(group) > 0 && group[0].Kv.ModRevision != event.Kv.ModRevision {
			if err := r.commit(group); err != nil {
				return err
			}
			group = group[:0]
		}
		group = append(group, event)
	}
	return ctx.Err()
}

func (r *Replay) grant(leases map[int64]int64) {
	tx := r.backend.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	for id, ttl := range leases {
		schema.MustUnsafePutLease(tx, &leasepb.Lease{ID: id, TTL: ttl})
	}
}

// commit writes the events of one revision as one transaction.
func (r *Replay) commit(group []*mvccpb.Event) error {
	if len(group) == 0 || group[0].Kv.ModRevision <= r.revision() {
		return nil
	}
	revision := group[0].Kv.ModRevision
	if revision != r.revision()+1 {
		return fmt.Errorf("%w: revision %d comes after %d", ErrReplay, revision, r.revision())
	}
	tx := r.kv.Write(traceutil.TODO())
	err := write(tx, group)
	changes := tx.Changes()
	tx.End()
	if err != nil {
		return err
	}
	for i, change := range changes {
		want := group[i].Kv
		if group[i].Type == mvccpb.PUT && (change.Version != want.Version || change.CreateRevision != want.CreateRevision) {
			return fmt.Errorf("%w: key %q has version %d of %d at revision %d, not %d of %d", ErrReplay, want.Key,
				change.Version, change.CreateRevision, revision, want.Version, want.CreateRevision)
		}
	}
	return nil
}

func write(tx mvcc.TxnWrite, group []*mvccpb.Event) error {
	for _, event := range group {
		switch event.Type {
		case mvccpb.PUT:
			tx.Put(event.Kv.Key, event.Kv.Value, lease.LeaseID(event.Kv.Lease))
		case mvccpb.DELETE:
			if n, _ := tx.DeleteRange(event.Kv.Key, nil); n != 1 {
				return fmt.Errorf("%w: key %q is deleted at revision %d but not there", ErrReplay, event.Kv.Key,
					event.Kv.ModRevision)
			}
		}
	}
	return nil
}
