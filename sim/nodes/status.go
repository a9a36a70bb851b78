package nodes

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

// Status is what GET /status answers.
type Status struct {
	Shoots   []ShootStatus     `json:"shoots"`
	Machines map[string]string `json:"machines,omitempty"` // running machines that cannot become nodes, and why
	Error    string            `json:"error,omitempty"`    // of the last look at the cloud
}

// ShootStatus is one shoot as its nodes see it.
type ShootStatus struct {
	Shoot       string       `json:"shoot"`
	Server      string       `json:"server"`
	LastContact time.Time    `json:"lastContact,omitzero"` // when its API server last answered
	Error       string       `json:"error,omitempty"`      // of the last round
	KwokPID     int          `json:"kwokPID,omitempty"`
	KwokStarts  int          `json:"kwokStarts"`
	Nodes       []NodeStatus `json:"nodes"`
}

// NodeStatus is one node as it was at the last contact.
type NodeStatus struct {
	Machine       string    `json:"machine"`
	Node          string    `json:"node"`
	UID           string    `json:"uid,omitempty"` // empty when not registered
	Ready         bool      `json:"ready"`
	LastHeartbeat time.Time `json:"lastHeartbeat,omitzero"` // the last renewal of its lease
}

// observe notes what was seen.
func (s *shoot) observe(machines []*machine, nodes map[string]*corev1.Node, leases map[string]*coordinationv1.Lease) {
	seen := make([]NodeStatus, 0, len(machines))
	for _, m := range machines {
		status := NodeStatus{Machine: m.ID, Node: m.nodeName()}
		if node := nodes[status.Node]; node != nil && node.Spec.ProviderID == m.providerID() {
			status.UID, status.Ready = string(node.UID), ready(node)
		}
		if lease := leases[status.Node]; lease != nil && lease.Spec.RenewTime != nil {
			status.LastHeartbeat = lease.Spec.RenewTime.Time
		}
		seen = append(seen, status)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.status.Nodes, s.status.LastContact = seen, s.clock.Now()
}

// report notes how a round ended. Rounds are many, so only the first of a row of errors is logged.
func (s *shoot) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mutex.Lock()
	before := s.status.Error
	s.status.Shoot, s.status.Server, s.status.Error, s.status.KwokStarts = s.name, s.using.server, text, s.kwok.starts
	s.status.KwokPID = 0
	if s.kwok.running() {
		s.status.KwokPID = s.kwok.process.PID()
	}
	s.mutex.Unlock()
	switch {
	case text == "" && before != "":
		s.log.Info("Shoot is all right again")
	case text != "" && before == "":
		s.log.Info("Shoot is not all right", "error", text)
	}
}

func (s *shoot) current() ShootStatus {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	status := s.status
	status.Shoot = s.name
	status.Nodes = slices.Clone(status.Nodes)
	return status
}

// Status is everything at this moment, in order of names.
func (a *Agent) Status() Status {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	status := Status{Shoots: []ShootStatus{}, Machines: maps.Clone(a.refused), Error: a.failure}
	for _, running := range a.shoots {
		status.Shoots = append(status.Shoots, running.shoot.current())
	}
	slices.SortFunc(status.Shoots, func(x, y ShootStatus) int { return strings.Compare(x.Shoot, y.Shoot) })
	return status
}

// Handler answers GET /status, GET /metrics and GET /healthz.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a.Status()) // the caller has gone, there is nobody to tell
	})
	mux.Handle("GET /metrics", a.metrics())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	return mux
}
