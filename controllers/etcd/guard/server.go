package guard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// longPoll bounds how long a question stays open.
const longPoll = 20 * time.Second

// Server answers holders, the owner and probes.
type Server struct {
	Guard    *validity.Guard
	Clock    ownership.Clock
	Gatherer prometheus.Gatherer
}

// maxInstance is the length of the name of an instance, in bytes.
const maxInstance = 256

// Routes of the API.
func (s *Server) Routes() []access.Route {
	holders := access.Holders()
	waiting := append(access.Holders(), access.Gardenlet)
	return []access.Route{
		{Method: http.MethodGet, Path: validity.PathValidity, Allowed: holders, Serve: s.validity},
		{Method: http.MethodGet, Path: validity.PathRevocation, Allowed: waiting, Serve: s.revocation},
		{Method: http.MethodPost, Path: validity.PathRevoked, Allowed: holders, Serve: s.revoked},
		{Method: http.MethodPost, Path: validity.PathLeft, Allowed: holders, Serve: s.left},
		{Method: http.MethodPost, Path: validity.PathFence, Allowed: []access.Identity{access.Gardenlet}, Serve: s.fence},
		{
			Method: http.MethodGet, Path: validity.PathState,
			Allowed: []access.Identity{access.Gardenlet, access.Observer}, Serve: s.state,
		},
	}
}

// Probes is the handler of what is open to everybody.
func (s *Server) Probes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.Gatherer, promhttp.HandlerOpts{DisableCompression: true}))
	return mux
}

// holder is who asks. Only the instance is the caller's to say.
func holder(r *http.Request, by access.Identity) (validity.HolderName, error) {
	name := validity.HolderName{Identity: string(by), Instance: r.URL.Query().Get("instance")}
	if len(name.Instance) > maxInstance {
		return name, fmt.Errorf("the name of the instance has %d bytes, it may have %d", len(name.Instance), maxInstance)
	}
	return name, nil
}

// validity grants what remains. A guard that is not valid says so with nothing remaining.
func (s *Server) validity(w http.ResponseWriter, r *http.Request, by access.Identity) {
	name, err := holder(r, by)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	self := s.Guard.Self()
	answer := validity.Answer{Owner: self.Owner, Epoch: self.Epoch, BootID: s.Clock.BootID()}
	if granted, err := s.Guard.Grant(name); err == nil {
		answer.Remaining = metav1.Duration{Duration: granted.Remaining}
	}
	answer.State = s.Guard.State()
	write(w, http.StatusOK, answer)
}

// state shows to people and probes who the guard is, and how long it is valid.
func (s *Server) state(w http.ResponseWriter, _ *http.Request, _ access.Identity) {
	self := s.Guard.Self()
	write(w, http.StatusOK, validity.Answer{
		Owner: self.Owner, Epoch: self.Epoch, BootID: s.Clock.BootID(), State: s.Guard.State(),
		Remaining: metav1.Duration{Duration: s.Guard.Remaining()},
	})
}

// revocation stays open until the guard is fenced.
func (s *Server) revocation(w http.ResponseWriter, r *http.Request, _ access.Identity) {
	end := s.Clock.After(longPoll)
	for {
		changed := s.Guard.Changed()
		if s.Guard.State() == validity.Fenced {
			write(w, http.StatusOK, s.fenceAnswer())
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-end:
			w.WriteHeader(http.StatusNoContent)
			return
		case <-changed:
		}
	}
}

func (s *Server) revoked(w http.ResponseWriter, r *http.Request, by access.Identity) {
	givesUp(w, r, by, s.Guard.Confirm)
}

func (s *Server) left(w http.ResponseWriter, r *http.Request, by access.Identity) {
	givesUp(w, r, by, s.Guard.Left)
}

func givesUp(w http.ResponseWriter, r *http.Request, by access.Identity, note func(validity.HolderName)) {
	name, err := holder(r, by)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	note(name)
	w.WriteHeader(http.StatusNoContent)
}

// fence ends the epoch by the owner's decision and answers when the end is reached, or after a while with how far it
// is (202). Who asks again gets the same.
func (s *Server) fence(w http.ResponseWriter, r *http.Request, _ access.Identity) {
	if epoch := r.URL.Query().Get("epoch"); epoch != strconv.FormatInt(s.Guard.Self().Epoch, 10) {
		http.Error(w, "this guard stands for epoch "+strconv.FormatInt(s.Guard.Self().Epoch, 10), http.StatusConflict)
		return
	}
	if err := s.Guard.Fence(); err != nil && s.Guard.State() != validity.Fenced {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	end := s.Clock.After(longPoll)
	for {
		changed := s.Guard.Changed()
		if answer := s.fenceAnswer(); answer.Finished {
			write(w, http.StatusOK, answer)
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-end:
			write(w, http.StatusAccepted, s.fenceAnswer())
			return
		case <-changed:
		}
	}
}

func (s *Server) fenceAnswer() validity.FenceAnswer {
	answer := validity.FenceAnswer{Epoch: s.Guard.Self().Epoch}
	fence := s.Guard.Memory().Fence
	switch {
	case fence == nil:
		answer.Message = "the epoch is served"
	case fence.Finished:
		answer.Fenced, answer.Finished = true, true
		answer.Message = "the epoch is over"
	case fence.Revoked:
		answer.Fenced = true
		answer.Message = "the final snapshot is being taken"
	default:
		answer.Fenced = true
		answer.Message = fmt.Sprintf("waiting for %s, at most %v",
			strings.Join(s.Guard.RevocationPending(), ", "), s.Guard.RevocationRemaining())
	}
	return answer
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if state := s.Guard.State(); state != validity.Serving {
		http.Error(w, string(state), http.StatusServiceUnavailable)
		return
	}
	write(w, http.StatusOK, "ok")
}

func write(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// An error here is the client's: it has gone.
	_ = json.NewEncoder(w).Encode(value)
}
