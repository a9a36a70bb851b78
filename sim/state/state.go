package state

import (
	"math"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// State is what probes have seen last, up to a moment of the run.
type State struct {
	// Shoots as the garden has them; one that was deleted is Absent.
	Shoots map[string]timeline.ShootSeen

	ready map[string]map[string]bool // nodes, by shoot
}

// New is the state before the first event.
func New() *State {
	return &State{Shoots: map[string]timeline.ShootSeen{}, ready: map[string]map[string]bool{}}
}

// Of all these events.
func Of(events []timeline.Event) *State { return At(events, math.MaxInt64) }

// At is the state at a moment.
func At(events []timeline.Event, at time.Duration) *State {
	s := New()
	for _, e := range events {
		if e.At > at {
			break
		}
		s.Take(e)
	}
	return s
}

// Take goes on by one event.
func (s *State) Take(e timeline.Event) {
	switch p := e.Payload.(type) {
	case timeline.ShootSeen:
		s.Shoots[e.Subject] = p
	case timeline.NodeSeen:
		if s.ready[e.Subject] == nil {
			s.ready[e.Subject] = map[string]bool{}
		}
		if s.ready[e.Subject][p.Name] = p.Ready == "True"; p.Gone {
			delete(s.ready[e.Subject], p.Name)
		}
	}
}

// Nodes of a shoot: how many are ready, and how many there are.
func (s *State) Nodes(shoot string) (ready, all int) {
	for _, is := range s.ready[shoot] {
		if is {
			ready++
		}
	}
	return ready, len(s.ready[shoot])
}
