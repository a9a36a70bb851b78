package requests

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Delay makes requests wait: before the server sees them, or on the way back. Watches always wait before.
type Delay struct {
	Match   kubeapi.Match   `json:"match,omitzero"`
	Answers Answers         `json:"answers,omitzero"`
	Turn    Turn            `json:"turn,omitzero"`
	Delay   metav1.Duration `json:"delay"`
	At      Moment          `json:"at,omitempty"`
}

var _ Fault = Delay{}

// Name is "Delay(delay,requests)".
func (d Delay) Name() string { return fmt.Sprintf("Delay(%s,%s)", d.Delay.Duration, d.Match) }

// Validate wants a positive delay.
func (d Delay) Validate() error {
	if d.Delay.Duration <= 0 {
		return fmt.Errorf("delay %s: must be positive", d.Delay.Duration)
	}
	return errors.Join(valid(d.Match, d.Turn, d.At), d.Answers.validate(d.At))
}

// Turns says which of the selected requests are hit.
func (d Delay) Turns() Turn { return d.Turn }

// Start begins the fault on one link.
func (d Delay) Start() Effect {
	return d.Answers.selected(Effect{Match: d.Match, Serve: func(a *Active, x *Exchange, next func(*Exchange)) {
		wait := func() bool {
			timer := a.Clock.NewTimer(d.Delay.Duration)
			defer timer.Stop()
			select {
			case <-timer.C():
			case <-a.Over:
			case <-x.R.Context().Done():
				return false
			}
			return true
		}
		a.at(d.At, x, next, wait)
	}})
}

// MarshalJSON writes the fault with its type.
func (d Delay) MarshalJSON() ([]byte, error) {
	type plain Delay
	return faultjson.Marshal("Delay", plain(d))
}
