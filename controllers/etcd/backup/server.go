package backup

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
)

// Paths of a sidecar's API. Who may ask where is in package access.
const (
	// PathLatest answers GET with a Latest.
	PathLatest = "/latest"
	// PathFull takes POST: a full snapshot now. ?final=true ends the epoch, ?epoch=<n> must be the sidecar's if given.
	// It answers with the Object when that is in the bucket.
	PathFull = "/snapshot/full"
)

// Routes of the sidecar's API.
func (s *Sidecar) Routes() []access.Route {
	return []access.Route{
		{Method: http.MethodGet, Path: PathLatest, Allowed: []access.Identity{access.Gardenlet, access.Observer},
			Serve: s.serveLatest},
		{Method: http.MethodPost, Path: PathFull, Allowed: []access.Identity{access.Guard, access.Gardenlet},
			Serve: s.serveFull},
	}
}

func (s *Sidecar) serveLatest(w http.ResponseWriter, _ *http.Request, _ access.Identity) {
	answer(w, s.Latest())
}

func (s *Sidecar) serveFull(w http.ResponseWriter, r *http.Request, _ access.Identity) {
	// A snapshot takes as long as it takes; the answer is small.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
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
