package backup

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"

	"github.com/transplant-sim/transplant/controllers/etcd/backup/delta"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
)

const (
	// DefaultRevisionBump is far beyond what any client can have seen after the last backup.
	DefaultRevisionBump = 1_000_000_000
	// walSegmentBytes keeps the restored write-ahead log at the size the control-plane binary's etcd uses.
	walSegmentBytes = 2_000_000
)

// RestoreOptions of Restore.
type RestoreOptions struct {
	Bucket Bucket
	// Epoch that is about to start. A data directory of this epoch is kept as it is.
	Epoch int64
	// DataDir is etcd's data directory. Folders beside it, with its name as prefix, are used meanwhile.
	DataDir string
	// MemberName and PeerURL are those of etcd's only member.
	MemberName, PeerURL string
	// RevisionBump is added to the restored revision, so that no client sees a revision go backwards.
	RevisionBump uint64
	// LastGood restores up to the last object that is whole where the chain is damaged, instead of an error.
	LastGood bool
	Log      logr.Logger
}

// RestoreResult says what Restore has done.
type RestoreResult struct {
	// Kept: the data directory belonged to the epoch already. Fresh: no epoch has ever started, etcd begins empty.
	Kept, Fresh bool
	// Revision that was restored, before the bump, and the epoch whose objects it came from.
	Revision, From int64
	// Final: it came from a final snapshot, so nothing that was acknowledged is missing.
	Final bool
	// Damage that LastGood has passed over; nil if the chain was whole.
	Damage error
}

// Restore prepares the data directory of a new epoch (docs/ownership.md#o6, docs/ownership.md#o7): it makes the epoch's
// manifest, restores the newest chain of it, bumps the revision and marks the old ones compacted. It may be repeated
// after a crash at any point: the directory appears whole. A damaged or missing object is a DamageError that names it.
//
// An epoch whose data is lost is restored for itself, unless it has ended: that is an EndedError.
func Restore(ctx context.Context, o RestoreOptions) (RestoreResult, error) {
	dir := datadir.Dir(o.DataDir)
	marker, err := dir.ReadEpoch()
	if err != nil {
		return RestoreResult{}, err
	}
	if marker.Epoch > o.Epoch {
		return RestoreResult{}, &SupersededError{Epoch: o.Epoch, By: marker.Epoch}
	}
	if marker.Epoch == o.Epoch {
		if err := checkData(o.DataDir); err == nil {
			return RestoreResult{Kept: true, Revision: marker.Revision, From: marker.From}, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			o.Log.Error(err, "The data of this epoch cannot be used and is restored from the bucket")
		}
	}
	manifest, err := EnsureManifest(ctx, o.Bucket, o.Bucket, o.Epoch)
	if err != nil {
		return RestoreResult{}, err
	}
	objects, err := ownOr(ctx, o.Bucket, o.Epoch, func() (Manifest, error) { return manifest, nil })
	if err != nil {
		return RestoreResult{}, err
	}
	if slices.ContainsFunc(objects, func(object Object) bool { return object.Final && object.Epoch == o.Epoch }) {
		return RestoreResult{}, &EndedError{Epoch: o.Epoch}
	}
	work := o.DataDir + ".restoring"
	if err := os.RemoveAll(work); err != nil {
		return RestoreResult{}, fmt.Errorf("clear the folder for the restore: %w", err)
	}
	defer os.RemoveAll(work)
	result, err := restoreInto(ctx, o, objects, work)
	if err != nil {
		return RestoreResult{}, err
	}
	if err := keepFence(o, filepath.Join(work, "data")); err != nil {
		return RestoreResult{}, err
	}
	return result, swap(o.DataDir, filepath.Join(work, "data"))
}

// keepFence takes the fence of the epoch over into its data that was made anew, so that the guard goes on with the end
// of the epoch and does not serve it again (docs/ownership.md#o3). Where it cannot be read any more, the bucket has
// shown that the end was not reached.
func keepFence(o RestoreOptions, data string) error {
	memory, err := datadir.Dir(o.DataDir).ReadMemory()
	if err != nil {
		o.Log.Error(err, "What the guard remembers is lost with the data")
		return nil
	}
	if memory.Epoch != o.Epoch || memory.Fence == nil {
		return nil
	}
	return datadir.Dir(data).WriteMemory(memory)
}

// checkData looks whether etcd's database is there and can be opened; os.ErrNotExist if it was never made.
func checkData(dataDir string) error {
	db := filepath.Join(dataDir, "member", "snap", "db")
	if _, err := os.Stat(db); err != nil {
		return err
	}
	file, err := bolt.Open(db, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("open etcd's database: %w", err)
	}
	return file.Close()
}

func restoreInto(ctx context.Context, o RestoreOptions, objects []Object, work string) (RestoreResult, error) {
	data := filepath.Join(work, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return RestoreResult{}, fmt.Errorf("make the folder for the restore: %w", err)
	}
	chains := chainsOf(objects)
	if len(chains) == 0 && len(objects) > 0 {
		return RestoreResult{}, noFullSnapshot(objects)
	}
	if len(chains) == 0 {
		return RestoreResult{Fresh: true}, datadir.Dir(data).WriteEpoch(datadir.Epoch{Epoch: o.Epoch})
	}
	var damage error
	for i, chain := range chains {
		result, err := restoreChain(ctx, o, chain, work)
		if _, damaged := errors.AsType[*DamageError](err); damaged && o.LastGood && i+1 < len(chains) {
			damage = errors.Join(damage, err)
			continue // an older full snapshot and the deltas behind it
		}
		if err != nil {
			return RestoreResult{}, errors.Join(damage, err)
		}
		result.Damage = errors.Join(damage, result.Damage)
		return result, nil
	}
	return RestoreResult{}, damage
}

// restoreChain rebuilds the database of one chain and makes a data directory of it.
func restoreChain(ctx context.Context, o RestoreOptions, chain []Object, work string) (RestoreResult, error) {
	log, err := zapLogger()
	if err != nil {
		return RestoreResult{}, err
	}
	result := RestoreResult{From: chain[0].Epoch, Final: chain[0].Final}
	if err := checkChain(chain); err != nil {
		if !o.LastGood {
			return RestoreResult{}, err
		}
		result.Damage, chain = err, beforeGap(chain)
	}
	db := filepath.Join(work, "db")
	if err := download(ctx, o.Bucket, chain[0], db); err != nil {
		return RestoreResult{}, err
	}
	damage, err := replayChain(ctx, o, chain, db, log)
	if err != nil {
		return RestoreResult{}, err
	}
	result.Damage = errors.Join(result.Damage, damage)
	if result.Revision, err = revisionOf(db); err != nil {
		return RestoreResult{}, err
	}
	data := filepath.Join(work, "data")
	if err := makeDataDir(o, db, data, log); err != nil {
		return RestoreResult{}, err
	}
	return result, datadir.Dir(data).WriteEpoch(datadir.Epoch{
		Epoch: o.Epoch, From: result.From, Revision: result.Revision, BumpedTo: result.Revision + int64(o.RevisionBump),
	})
}

// download unpacks a full snapshot into a file.
func download(ctx context.Context, bucket Bucket, full Object, db string) (err error) {
	body, err := openVerified(ctx, bucket, full)
	if err != nil {
		return err
	}
	defer body.Close()
	file, err := os.OpenFile(db, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make the file for the snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zip, err := gzip.NewReader(body)
	if err == nil {
		_, err = io.Copy(file, zip)
	}
	// The digest is known at the end, which the decompressor may not have reached; it explains more than its error.
	if _, rest := io.Copy(io.Discard, body); rest != nil {
		err = rest
	}
	return damageOr(full, err)
}

// damageOr makes a DamageError of an error in the content of an object.
func damageOr(object Object, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if damage, ok := errors.AsType[*DamageError](err); ok {
		return damage
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, delta.ErrReplay) {
		return &DamageError{Key: object.Key(), Err: err}
	}
	return fmt.Errorf("read the object %q: %w", object.Key(), err)
}

// replayChain applies the deltas of the chain. With LastGood it stops before the first that is damaged and returns
// that damage first.
func replayChain(ctx context.Context, o RestoreOptions, chain []Object, db string, log *zap.Logger) (damage,
	err error) {
	r, err := delta.OpenReplay(db, log)
	if err != nil {
		return nil, &DamageError{Key: chain[0].Key(), Err: err}
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for _, object := range chain[1:] {
		// All of it before anything of it is applied: its digest is known only at its end.
		fetched := db + ".delta"
		if err := fetch(ctx, o.Bucket, object, fetched); err != nil {
			if _, damaged := errors.AsType[*DamageError](err); damaged && o.LastGood {
				return err, nil
			}
			return nil, err
		}
		if err := applyDelta(ctx, fetched, object, r); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// fetch copies an object as it is into a file. It ends as read does.
func fetch(ctx context.Context, bucket Bucket, object Object, path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make the file for a delta: %w", err)
	}
	return errors.Join(read(ctx, bucket, object, file), file.Close())
}

func applyDelta(ctx context.Context, path string, object Object, r *delta.Replay) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the file with a delta: %w", err)
	}
	defer file.Close()
	return damageOr(object, r.Apply(ctx, file))
}

// useSmallSegments sets etcd's own variable, which its restore reads.
var useSmallSegments = sync.OnceFunc(func() { wal.SegmentSizeBytes = walSegmentBytes })

func makeDataDir(o RestoreOptions, db, data string, log *zap.Logger) error {
	useSmallSegments()
	err := snapshot.NewV3(log).Restore(snapshot.RestoreConfig{
		SnapshotPath: db, OutputDataDir: data, Name: o.MemberName,
		PeerURLs: []string{o.PeerURL}, InitialCluster: o.MemberName + "=" + o.PeerURL, InitialClusterToken: "etcd-cluster",
		SkipHashCheck: true, // its digest was verified with the object's, before the deltas were applied
		RevisionBump:  o.RevisionBump, MarkCompacted: o.RevisionBump > 0,
	})
	if err != nil {
		return fmt.Errorf("make a data directory of the snapshot: %w", err)
	}
	return nil
}

// swap puts the new data directory in the place of the old one. A crash in between leaves none: the next restore then
// makes it again.
func swap(dataDir, fresh string) error {
	if err := os.RemoveAll(dataDir); err != nil {
		return fmt.Errorf("remove the old data directory: %w", err)
	}
	if err := os.Rename(fresh, dataDir); err != nil {
		return fmt.Errorf("put the restored data directory in place: %w", err)
	}
	return datadir.Sync(filepath.Dir(dataDir))
}

// zapLogger is for etcd's own code: only what it complains about.
func zapLogger() (*zap.Logger, error) {
	config := zap.NewProductionConfig()
	config.Level = zap.NewAtomicLevelAt(zap.WarnLevel)
	return config.Build()
}
