package link

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Spec is a fault as JSON: an object with its "type" and its fields, durations as strings and sizes as quantities.
//
//	{"type":"Cut","direction":"ToServer","refuse":true}
//	{"type":"Latency","delay":"75ms","jitter":"10ms"}
//	{"type":"Bandwidth","bytesPerSecond":"64Ki"}
//	{"type":"Reset"}
type Spec struct{ Fault }

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
	}
	bandwidthSpec struct {
		Type           string            `json:"type"`
		Direction      Direction         `json:"direction,omitempty"`
		BytesPerSecond resource.Quantity `json:"bytesPerSecond"`
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
	spec := latencySpec{Type: "Latency", Direction: l.Direction, Delay: metav1.Duration{Duration: l.Delay}}
	if l.Jitter != 0 {
		spec.Jitter = &metav1.Duration{Duration: l.Jitter}
	}
	return json.Marshal(spec)
}

// MarshalJSON writes the fault with its type.
func (b Bandwidth) MarshalJSON() ([]byte, error) {
	return json.Marshal(bandwidthSpec{
		Type: "Bandwidth", Direction: b.Direction,
		BytesPerSecond: *resource.NewQuantity(b.BytesPerSecond, resource.BinarySI),
	})
}

// MarshalJSON writes the fault with its type.
func (Reset) MarshalJSON() ([]byte, error) { return json.Marshal(resetSpec{Type: "Reset"}) }

// MarshalJSON writes the fault with its type.
func (s Spec) MarshalJSON() ([]byte, error) { return json.Marshal(s.Fault) }

// UnmarshalJSON reads a valid fault of any type. Fields that the type does not have are an error.
func (s *Spec) UnmarshalJSON(data []byte) error {
	var head struct{ Type string }
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("read the type of a fault: %w", err)
	}
	fault, err := read(head.Type, data)
	if err == nil {
		err = fault.Validate()
	}
	if err != nil {
		return fmt.Errorf("read the fault %q: %w", head.Type, err)
	}
	s.Fault = fault
	return nil
}

func read(kind string, data []byte) (Fault, error) {
	switch kind {
	case "Cut":
		spec, err := strict[cutSpec](data)
		return Cut{Direction: spec.Direction, Refuse: spec.Refuse}, err
	case "Latency":
		spec, err := strict[latencySpec](data)
		var jitter time.Duration
		if spec.Jitter != nil {
			jitter = spec.Jitter.Duration
		}
		return Latency{Direction: spec.Direction, Delay: spec.Delay.Duration, Jitter: jitter}, err
	case "Bandwidth":
		spec, err := strict[bandwidthSpec](data)
		return Bandwidth{Direction: spec.Direction, BytesPerSecond: spec.BytesPerSecond.Value()}, err
	case "Reset":
		_, err := strict[resetSpec](data)
		return Reset{}, err
	}
	return nil, fmt.Errorf("unknown type: must be Cut, Latency, Bandwidth or Reset")
}

func strict[T any](data []byte) (T, error) {
	var spec T
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&spec)
	return spec, err
}
