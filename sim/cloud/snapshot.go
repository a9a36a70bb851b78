package cloud

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/durable"
)

// Names in a snapshot. The ledger comes last, so that an archive that was cut off has none.
const (
	snapshotLedger = "ledger.jsonl"
	snapshotBlobs  = "blobs/"
)

// snapshot streams one moment of the cloud. Calls go on meanwhile: rows are immutable, contents are held.
func (s *Server) snapshot(_ *call, w http.ResponseWriter, r *http.Request) error {
	release := s.blobs.hold()
	defer release()
	size, objects := s.moment()
	w.Header().Set("Content-Type", "application/x-tar")
	archive := tar.NewWriter(w)
	for _, object := range objects {
		if err := s.archiveContent(r.Context(), archive, object); err != nil {
			return abort(s, err)
		}
	}
	if err := archive.WriteHeader(&tar.Header{Name: snapshotLedger, Mode: 0o600, Size: size}); err != nil {
		return abort(s, err)
	}
	if _, err := io.Copy(archive, io.NewSectionReader(s.ledger.file, 0, size)); err != nil {
		return abort(s, err)
	}
	if err := archive.Close(); err != nil {
		return abort(s, err)
	}
	return nil
}

// moment is the length of the ledger, and the objects there were at it.
func (s *Server) moment() (int64, []*storedObject) {
	s.write.Lock()
	defer s.write.Unlock()
	objects := make([]*storedObject, 0, len(s.state.rows[api.KindObjects]))
	for _, row := range s.state.rows[api.KindObjects] {
		objects = append(objects, row.(*storedObject))
	}
	slices.SortFunc(objects, func(a, b *storedObject) int { return strings.Compare(a.ID, b.ID) })
	return s.ledger.size(), objects
}

// abort breaks the connection off, as the status line has been sent long ago.
func abort(s *Server, err error) error {
	s.log.Error(err, "Snapshot ended early")
	panic(http.ErrAbortHandler)
}

func (s *Server) archiveContent(ctx context.Context, archive *tar.Writer, object *storedObject) error {
	body, err := s.blobs.open(ctx, object.Blob)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := archive.WriteHeader(&tar.Header{Name: snapshotBlobs + object.Blob, Mode: 0o600,
		Size: object.Size}); err != nil {
		return err
	}
	_, err = io.Copy(archive, body)
	return err
}

// restoreSnapshot unpacks a snapshot; path is where the ledger goes and must not exist. The ledger appears last and
// whole, so a restore that was killed is done again.
func restoreSnapshot(ctx context.Context, snapshot, path string, blobs *blobs) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("restore the snapshot %q: there is a ledger at %q already", snapshot, path)
	}
	file, err := os.Open(snapshot)
	if err != nil {
		return fmt.Errorf("open the snapshot: %w", err)
	}
	defer file.Close()
	if err := unpack(ctx, tar.NewReader(file), path, blobs); err != nil {
		return fmt.Errorf("restore the snapshot %q: %w", snapshot, err)
	}
	return nil
}

func unpack(ctx context.Context, archive *tar.Reader, path string, blobs *blobs) error {
	for {
		header, err := archive.Next()
		if err != nil {
			return fmt.Errorf("it ends before its ledger: %w", err)
		}
		if header.Name == snapshotLedger {
			return unpackLedger(blobs.disk, archive, path)
		}
		key, ok := strings.CutPrefix(header.Name, snapshotBlobs)
		if !ok {
			return fmt.Errorf("it has an unknown part %q", header.Name)
		}
		if _, err := blobs.write(ctx, key, archive); err != nil {
			return err
		}
	}
}

func unpackLedger(disk durable.Disk, content io.Reader, path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), "restore-*")
	if err != nil {
		return fmt.Errorf("make the ledger: %w", err)
	}
	defer os.Remove(file.Name()) // fails after the rename, as it should
	_, err = io.Copy(file, content)
	if err := errors.Join(err, disk.File(file), file.Close()); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return disk.Folder(filepath.Dir(path))
}
