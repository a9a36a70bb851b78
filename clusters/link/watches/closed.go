package watches

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
)

// Closed ends watches between two events, as an API server does when their time is up: those that are open, and new
// ones when they have lived for Life.
type Closed struct {
	Match kubeapi.Match `json:"match,omitzero"`
	Turn  requests.Turn `json:"turn,omitzero"`
	// Life of a watch; it ends at once when not given.
	Life metav1.Duration `json:"life,omitzero"`
}

var _ Fault = Closed{}

// Name is "CloseWatch(watches)".
func (c Closed) Name() string { return fmt.Sprintf("CloseWatch(%s)", c.Match) }

// Validate finds verbs, of which there is only one.
func (c Closed) Validate() error {
	if c.Life.Duration < 0 {
		return fmt.Errorf("life %s: must not be negative", c.Life.Duration)
	}
	return valid(c.Match, c.Turn)
}

// Turns says which of the selected watches are hit.
func (c Closed) Turns() requests.Turn { return c.Turn }

// Start begins the fault on one link.
func (c Closed) Start() (requests.Effect, Effect) {
	return requests.Effect{Match: c.Match}, Effect{Watch: func(a *Active, s *Stream) {
		if !a.NextTurn() {
			return
		}
		if c.Life.Duration == 0 {
			s.endWith(a, silence)
			return
		}
		timer := a.Clock.NewTimer(c.Life.Duration)
		go func() {
			defer timer.Stop()
			select {
			case <-timer.C():
				s.change(func() { s.endWith(a, silence) })
			case <-a.Over:
			case <-s.r.Context().Done():
			}
		}()
	}}
}

// silence is how a watch ends well.
func silence(string) []byte { return nil }

// MarshalJSON writes the fault with its type.
func (c Closed) MarshalJSON() ([]byte, error) {
	type plain Closed
	return faultjson.Marshal("CloseWatch", plain(c))
}
