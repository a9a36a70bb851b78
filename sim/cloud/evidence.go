package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	api "github.com/transplant-sim/transplant/api/cloud"
)

const (
	maxWait      = time.Minute // of a long poll
	ledgerBatch  = 1000        // entries read at once
	streamBudget = time.Minute // how long a reader of a stream may take nothing
)

// readLedger answers entries, one JSON document a line: those that are there, or with follow=true also all to come.
func (s *Server) readLedger(c *call, w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	after, err := strconv.ParseInt("0"+query.Get("after"), 10, 64)
	if err != nil {
		return invalid("after: '%s' is not a number", query.Get("after"))
	}
	follow, kind := query.Get("follow") == "true", query.Get("kind")
	if text := query.Get("wait"); text != "" && !follow {
		period, err := time.ParseDuration(text)
		if err != nil {
			return invalid("wait: '%s' is not a duration", text)
		}
		if after, err = s.awaitKind(r.Context(), after, kind, min(period, maxWait)); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &entryWriter{w: w, controller: http.NewResponseController(w), kind: kind}
	for {
		next, err := s.sendEntries(out, after)
		if err != nil || (!follow && next == after) {
			return err
		}
		after = next
		if follow && s.ledger.wait(r.Context(), after) != nil {
			return nil // the follower has gone, or the server ends
		}
	}
}

// awaitKind waits until there is an entry of the kind behind the number, and returns a number before it. It is no
// error when none comes in time.
func (s *Server) awaitKind(ctx context.Context, after int64, kind string, period time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, period)
	defer cancel()
	for {
		if err := s.ledger.wait(ctx, after); err != nil {
			return after, nil
		}
		entries, err := s.ledger.read(after, ledgerBatch)
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

func (s *Server) sendEntries(out *entryWriter, after int64) (int64, error) {
	entries, err := s.ledger.read(after, ledgerBatch)
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
