package nodes

import (
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

// Status is what an agent knows of its shoots and machines.
type Status struct {
	Shoots   []ShootStatus
	Machines map[string]string // running machines that cannot become nodes, and why
	Error    string            // of the last look at the cloud
}

// ShootStatus is one shoot as its nodes see it.
type ShootStatus struct {
	Shoot      string
	Error      string // of the last round
	KwokPID    int    // 0 when none runs
	KwokStarts int
	Nodes      []NodeStatus
}

// NodeStatus is one node as it was at the last contact.
type NodeStatus struct {
	Node          string
	UID           string // empty when not registered
	Ready         bool
	LastHeartbeat time.Time // the last renewal of its lease
}

// observe notes what was seen.
func (s *shoot) observe(machines []*machine, nodes map[string]*corev1.Node, leases map[string]*coordinationv1.Lease) {
	seen := make([]NodeStatus, 0, len(machines))
	for _, m := range machines {
		status := NodeStatus{Node: m.nodeName()}
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
	s.status.Nodes = seen
}

// report notes how a round ended. Rounds are many, so only the first of a row of errors is logged.
func (s *shoot) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mutex.Lock()
	before := s.status.Error
	s.status.Shoot, s.status.Error, s.status.KwokStarts = s.name, text, s.kwok.starts
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
