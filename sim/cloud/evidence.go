package cloud

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/blobs"
	"github.com/transplant-sim/transplant/sim/cloud/ledger"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
	"github.com/transplant-sim/transplant/sim/durable"
)

const (
	maxWait      = time.Minute // of a long poll
	ledgerBatch  = 1000        // entries read at once
	streamBudget = time.Minute // how long a reader of a stream may take nothing
)

// evidence answers calls for the ledger and for snapshots.
type evidence struct {
	db    *database
	blobs *blobs.Store
	log   logr.Logger
}

// readLedger answers entries, one JSON document a line: those that are there, or with follow=true also all to come.
func (e evidence) readLedger(c *call, w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	after, err := strconv.ParseInt("0"+query.Get("after"), 10, 64)
	if err != nil {
		return refusal.Invalid("after: '%s' is not a number", query.Get("after"))
	}
	follow, kind := query.Get("follow") == "true", query.Get("kind")
	if text := query.Get("wait"); text != "" && !follow {
		period, err := time.ParseDuration(text)
		if err != nil {
			return refusal.Invalid("wait: '%s' is not a duration", text)
		}
		if after, err = e.awaitKind(r.Context(), after, kind, min(period, maxWait)); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &entryWriter{w: w, controller: http.NewResponseController(w), kind: kind}
	for {
		next, err := e.sendEntries(out, after)
		if err != nil || (!follow && next == after) {
			return err
		}
		after = next
		if follow && e.db.ledger.Wait(r.Context(), after) != nil {
			return nil // the follower has gone, or the server ends
		}
	}
}

// awaitKind waits until there is an entry of the kind behind the number, and returns a number before it. It is no
// error when none comes in time.
func (e evidence) awaitKind(ctx context.Context, after int64, kind string, period time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, period)
	defer cancel()
	for {
		if err := e.db.ledger.Wait(ctx, after); err != nil {
			return after, nil
		}
		entries, err := e.db.ledger.Read(after, ledgerBatch)
		if err != nil {
			return after, err
		}
		for _, entry := range entries {
			if kind == "" || entry.Kind == kind {
				return entry.Seq - 1, nil
			}
		}
		after += int64(len(entries))
	}
}

func (e evidence) sendEntries(out *entryWriter, after int64) (int64, error) {
	entries, err := e.db.ledger.Read(after, ledgerBatch)
	if err != nil {
		return after, err
	}
	// A deadline that stayed would end the stream of a follower to whom nothing is sent for a while.
	defer out.deadline(time.Time{})
	out.deadline(time.Now().Add(streamBudget))
	for i := range entries {
		if err := out.send(&entries[i]); err != nil {
			return after, err
		}
	}
	return after + int64(len(entries)), out.controller.Flush()
}

type entryWriter struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	kind       string
}

func (o *entryWriter) send(entry *api.LedgerEntry) error {
	if o.kind != "" && entry.Kind != o.kind {
		return nil
	}
	if entry.Kind == api.KindMachines && len(entry.Object) > 0 {
		hideUserData(entry)
	}
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	_, err = o.w.Write(append(line, '\n'))
	return err
}

// deadline bounds how long the reader may take for what is written. Where the connection has none, nothing bounds it.
func (o *entryWriter) deadline(t time.Time) { _ = o.controller.SetWriteDeadline(t) }

// hideUserData leaves out the one field that not everybody may read.
func hideUserData(entry *api.LedgerEntry) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(entry.Object, &fields) != nil {
		entry.Object = nil
		return
	}
	delete(fields, "userData")
	entry.Object, _ = json.Marshal(fields) // a map of raw messages always marshals
}

// Names in a snapshot. The ledger comes last, so that an archive that was cut off has none.
const (
	snapshotLedger = "ledger.jsonl"
	snapshotBlobs  = "blobs/"
)

// snapshot streams one moment of the cloud. Calls go on meanwhile: rows are immutable, contents are held.
func (e evidence) snapshot(_ *call, w http.ResponseWriter, r *http.Request) error {
	release := e.blobs.Hold()
	defer release()
	size, objects := e.db.moment()
	w.Header().Set("Content-Type", "application/x-tar")
	archive := tar.NewWriter(w)
	for _, object := range objects {
		if err := e.archiveContent(r.Context(), archive, object); err != nil {
			return e.abort(err)
		}
	}
	if err := archive.WriteHeader(&tar.Header{Name: snapshotLedger, Mode: 0o600, Size: size}); err != nil {
		return e.abort(err)
	}
	if _, err := io.Copy(archive, e.db.ledger.Upto(size)); err != nil {
		return e.abort(err)
	}
	if err := archive.Close(); err != nil {
		return e.abort(err)
	}
	return nil
}

// abort breaks the connection off, as the status line has been sent long ago.
func (e evidence) abort(err error) error {
	e.log.Error(err, "Snapshot ended early")
	panic(http.ErrAbortHandler)
}

func (e evidence) archiveContent(ctx context.Context, archive *tar.Writer, object *storedObject) error {
	body, err := e.blobs.Open(ctx, object.Blob)
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
func restoreSnapshot(ctx context.Context, snapshot, path string, contents *blobs.Store) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("restore the snapshot %q: there is a ledger at %q already", snapshot, path)
	}
	file, err := os.Open(snapshot)
	if err != nil {
		return fmt.Errorf("open the snapshot: %w", err)
	}
	defer file.Close()
	if err := unpack(ctx, tar.NewReader(file), path, contents); err != nil {
		return fmt.Errorf("restore the snapshot %q: %w", snapshot, err)
	}
	return nil
}

func unpack(ctx context.Context, archive *tar.Reader, path string, contents *blobs.Store) error {
	for {
		header, err := archive.Next()
		if err != nil {
			return fmt.Errorf("it ends before its ledger: %w", err)
		}
		if header.Name == snapshotLedger {
			return ledger.Restore(durable.Disk{}, archive, path)
		}
		key, ok := strings.CutPrefix(header.Name, snapshotBlobs)
		if !ok {
			return fmt.Errorf("it has an unknown part %q", header.Name)
		}
		if _, err := contents.Write(ctx, key, archive); err != nil {
			return err
		}
	}
}
