package link

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Delay makes requests wait: before the server sees them, or on the way back. Watches always wait before.
type Delay struct {
	Match Match           `json:"match,omitzero"`
	Turn  Turn            `json:"turn,omitzero"`
	Delay metav1.Duration `json:"delay"`
	At    Moment          `json:"at,omitempty"`
}

var _ Fault = Delay{}

// Name is "Delay(delay,requests)".
func (d Delay) Name() string { return fmt.Sprintf("Delay(%s,%s)", d.Delay.Duration, d.Match) }

// Validate wants a positive delay.
func (d Delay) Validate() error {
	if d.Delay.Duration <= 0 {
		return fmt.Errorf("delay %s: must be positive", d.Delay.Duration)
	}
	return valid(d.Match, d.Turn, d.At)
}

func (d Delay) turn() Turn { return d.Turn }

func (d Delay) start(dice) *effect {
	return &effect{match: d.Match, serve: func(a *active, x *exchange, next func(*exchange)) {
		wait := func() bool {
			timer := a.traffic.clock.NewTimer(d.Delay.Duration)
			defer timer.Stop()
			select {
			case <-timer.C():
			case <-a.over:
			case <-x.r.Context().Done():
				return false
			}
			return true
		}
		a.at(d.At, x, next, wait)
	}}
}

// MarshalJSON writes the fault with its type.
func (d Delay) MarshalJSON() ([]byte, error) {
	type plain Delay
	return typed("Delay", plain(d))
}
