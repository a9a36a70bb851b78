package wire

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
)

// The fields of each fault in JSON.
type (
	cutSpec struct {
		Type      string    `json:"type"`
		Direction Direction `json:"direction,omitempty"`
		Refuse    bool      `json:"refuse,omitempty"`
	}
	latencySpec struct {
		Type      string           `json:"type"`
		Direction Direction        `json:"direction,omitempty"`
		Delay     metav1.Duration  `json:"delay"`
		Jitter    *metav1.Duration `json:"jitter,omitempty"`

		Correlation float64 `json:"correlation,omitempty"`
		Overtaking  Chance  `json:"overtaking,omitzero"`
		Gap         int     `json:"gap,omitempty"`
	}
	bandwidthSpec struct {
		Type           string            `json:"type"`
		Direction      Direction         `json:"direction,omitempty"`
		BytesPerSecond resource.Quantity `json:"bytesPerSecond"`
		Burst          int64             `json:"burst,omitempty"`
	}
	resetSpec struct {
		Type string `json:"type"`
	}
)

// MarshalJSON writes the fault with its type.
func (c Cut) MarshalJSON() ([]byte, error) {
	return json.Marshal(cutSpec{Type: "Cut", Direction: c.Direction, Refuse: c.Refuse})
}

// MarshalJSON writes the fault with its type.
func (l Latency) MarshalJSON() ([]byte, error) {
	spec := latencySpec{Type: "Latency", Direction: l.Direction, Delay: metav1.Duration{Duration: l.Delay},
		Correlation: l.Correlation, Overtaking: l.Overtaking, Gap: l.Gap}
	if l.Jitter != 0 {
		spec.Jitter = &metav1.Duration{Duration: l.Jitter}
	}
	return json.Marshal(spec)
}

// MarshalJSON writes the fault with its type.
func (b Bandwidth) MarshalJSON() ([]byte, error) {
	return json.Marshal(bandwidthSpec{
		Type: "Bandwidth", Direction: b.Direction,
		BytesPerSecond: *resource.NewQuantity(b.BytesPerSecond, resource.BinarySI), Burst: b.Burst,
	})
}

// MarshalJSON writes the fault with its type.
func (Reset) MarshalJSON() ([]byte, error) { return json.Marshal(resetSpec{Type: "Reset"}) }

// UnmarshalJSON reads the fault. Fields that it does not have are an error.
func (c *Cut) UnmarshalJSON(data []byte) error {
	spec, err := faultjson.Strict[cutSpec](data)
	*c = Cut{Direction: spec.Direction, Refuse: spec.Refuse}
	return err
}

// UnmarshalJSON reads the fault. Fields that it does not have are an error.
func (l *Latency) UnmarshalJSON(data []byte) error {
	spec, err := faultjson.Strict[latencySpec](data)
	var jitter time.Duration
	if spec.Jitter != nil {
		jitter = spec.Jitter.Duration
	}
	*l = Latency{Direction: spec.Direction, Delay: spec.Delay.Duration, Jitter: jitter, Correlation: spec.Correlation,
		Overtaking: spec.Overtaking, Gap: spec.Gap}
	return err
}

// UnmarshalJSON reads the fault. Fields that it does not have are an error.
func (b *Bandwidth) UnmarshalJSON(data []byte) error {
	spec, err := faultjson.Strict[bandwidthSpec](data)
	*b = Bandwidth{Direction: spec.Direction, BytesPerSecond: spec.BytesPerSecond.Value(), Burst: spec.Burst}
	return err
}

// UnmarshalJSON reads the fault. Fields that it does not have are an error.
func (*Reset) UnmarshalJSON(data []byte) error {
	_, err := faultjson.Strict[resetSpec](data)
	return err
}
