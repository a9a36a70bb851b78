package backup

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// Paths of a sidecar's HTTP server.
const (
	// PathLatest answers GET with a Latest.
	PathLatest = "/latest"
	// PathFull takes POST: a full snapshot now. ?final=true ends the epoch, ?epoch=<n> must be the sidecar's if given.
	// It answers with the Object when that is in the bucket.
	PathFull = "/snapshot/full"
)

// Handler serves the sidecar over HTTP.
func (s *Sidecar) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathLatest, func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Latest()) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, "ok") })
	mux.HandleFunc("POST "+PathFull, s.serveFull)
	return mux
}

func (s *Sidecar) serveFull(w http.ResponseWriter, r *http.Request) {
	if epoch := r.URL.Query().Get("epoch"); epoch != "" && epoch != strconv.FormatInt(s.options.Epoch, 10) {
		http.Error(w, "this sidecar backs up epoch "+strconv.FormatInt(s.options.Epoch, 10), http.StatusConflict)
		return
	}
	take := s.Full
	if r.URL.Query().Get("final") == "true" {
		take = s.Final
	}
	object, err := take(r.Context())
	switch {
	case errors.Is(err, ErrNotFenced):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		answer(w, object)
	}
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	// An error here is the client's: it has gone.
	_ = json.NewEncoder(w).Encode(value)
}
