package link

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CloseWatch ends watches between two events, as an API server does when their time is up: those that are open, and new
// ones when they have lived for Life.
type CloseWatch struct {
	Match Match `json:"match,omitzero"`
	Turn  Turn  `json:"turn,omitzero"`
	// Life of a watch; it ends at once when not given.
	Life metav1.Duration `json:"life,omitzero"`
}

var _ Fault = CloseWatch{}

// Name is "CloseWatch(watches)".
func (c CloseWatch) Name() string { return fmt.Sprintf("CloseWatch(%s)", c.Match) }

// Validate finds verbs, of which there is only one.
func (c CloseWatch) Validate() error {
	if c.Life.Duration < 0 {
		return fmt.Errorf("life %s: must not be negative", c.Life.Duration)
	}
	return validWatch(c.Match, c.Turn)
}

func (c CloseWatch) turn() Turn { return c.Turn }

func (c CloseWatch) start(dice) *effect {
	return &effect{match: c.Match, watch: func(a *active, s *stream) {
		if !a.injection.turns.next() {
			return
		}
		if c.Life.Duration == 0 {
			s.endWith(a, silence)
			return
		}
		timer := a.traffic.clock.NewTimer(c.Life.Duration)
		go func() {
			defer timer.Stop()
			select {
			case <-timer.C():
				s.change(func() { s.endWith(a, silence) })
			case <-a.over:
			case <-s.r.Context().Done():
			}
		}()
	}}
}

// silence is how a watch ends well.
func silence(string) []byte { return nil }

// MarshalJSON writes the fault with its type.
func (c CloseWatch) MarshalJSON() ([]byte, error) {
	type plain CloseWatch
	return typed("CloseWatch", plain(c))
}
