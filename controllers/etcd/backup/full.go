package backup

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// errSnapshotDigest says that etcd's own digest at the end of a snapshot does not match.
var errSnapshotDigest = errors.New("etcd's snapshot does not match the digest at its end")

// uploadFull takes a snapshot and uploads it. Both happen through files in folder: a snapshot may be larger than
// memory, and the digest must be known before the object's name is.
func uploadFull(ctx context.Context, client *clientv3.Client, bucket Bucket, epoch int64, final bool,
	folder string) (Object, error) {
	db, err := fetchSnapshot(ctx, client, folder)
	if err != nil {
		return Object{}, err
	}
	defer os.Remove(db)
	object := Object{Epoch: epoch, Kind: Full, Final: final}
	if object.Last, err = revisionOf(db); err != nil {
		return Object{}, err
	}
	zipped, err := compress(db, folder)
	if err != nil {
		return Object{}, err
	}
	defer os.Remove(zipped.name)
	object.SHA256 = zipped.digest
	content, err := os.Open(zipped.name)
	if err != nil {
		return Object{}, err
	}
	defer content.Close()
	// The same snapshot again has the same name: it is there already.
	if err := bucket.Create(ctx, object.Key(), content); err != nil && !errors.Is(err, ErrExists) {
		return Object{}, fmt.Errorf("upload a full snapshot: %w", err)
	}
	return object, nil
}

// fetchSnapshot streams etcd's database into a file and checks and removes the digest at its end. It may take as long
// as it moves: an etcd that stands still shall not keep a later snapshot waiting.
func fetchSnapshot(ctx context.Context, client *clientv3.Client, folder string) (name string, err error) {
	ctx, call := whileMoving(ctx, stallPatience)
	defer call.end()
	stream, err := client.Snapshot(ctx)
	if err != nil {
		return "", fmt.Errorf("take a snapshot of etcd: %w", call.explain(err))
	}
	defer stream.Close()
	file, err := os.CreateTemp(folder, "snapshot-*.db")
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	size, err := io.Copy(file, call.reader(stream))
	if err != nil {
		return "", fmt.Errorf("read the snapshot of etcd: %w", err)
	}
	return file.Name(), cutDigest(file, size)
}

func cutDigest(file *os.File, size int64) error {
	if size < sha256.Size {
		return fmt.Errorf("check %d bytes: %w", size, errSnapshotDigest)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.CopyN(sum, file, size-sha256.Size); err != nil {
		return err
	}
	if _, err := io.ReadFull(file, want); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return errSnapshotDigest
	}
	return file.Truncate(size - sha256.Size)
}

// revisionOf is the last revision in a database file: that of the last key, or of the last compaction if that has
// left nothing younger.
func revisionOf(db string) (int64, error) {
	file, err := bolt.Open(db, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return 0, fmt.Errorf("open the snapshot: %w", err)
	}
	defer file.Close()
	revision := int64(1) // of an empty etcd
	err = file.View(func(tx *bolt.Tx) error {
		if keys := tx.Bucket(schema.Key.Name()); keys != nil {
			if last, _ := keys.Cursor().Last(); len(last) >= 8 {
				revision = max(revision, int64(binary.BigEndian.Uint64(last)))
			}
		}
		if meta := tx.Bucket(schema.Meta.Name()); meta != nil {
			for _, name := range [][]byte{schema.ScheduledCompactKeyName, schema.FinishedCompactKeyName} {
				if value := meta.Get(name); len(value) > 0 {
					revision = max(revision, mvcc.BytesToRev(value).Main)
				}
			}
		}
		return nil
	})
	return revision, err
}

// zippedFile is a compressed file and the digest of its bytes.
type zippedFile struct{ name, digest string }

func compress(source, folder string) (z zippedFile, err error) {
	in, err := os.Open(source)
	if err != nil {
		return zippedFile{}, err
	}
	defer in.Close()
	out, err := os.CreateTemp(folder, "snapshot-*.gz")
	if err != nil {
		return zippedFile{}, err
	}
	defer func() {
		err = errors.Join(err, out.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(out.Name()))
		}
	}()
	sum := sha256.New()
	zip, err := gzip.NewWriterLevel(io.MultiWriter(out, sum), gzip.BestSpeed)
	if err != nil {
		return zippedFile{}, err
	}
	if _, err := io.Copy(zip, in); err != nil {
		return zippedFile{}, fmt.Errorf("compress the snapshot: %w", err)
	}
	if err := zip.Close(); err != nil {
		return zippedFile{}, fmt.Errorf("compress the snapshot: %w", err)
	}
	return zippedFile{name: out.Name(), digest: hex.EncodeToString(sum.Sum(nil))}, nil
}
