package link

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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
//	{"type":"Fail","match":{"verbs":["patch"],"resource":"shoots"},"turn":{"nth":2},"status":503}
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

// types of faults in JSON, and how each is read.
var types = map[string]func([]byte) (Fault, error){
	"Cut": func(data []byte) (Fault, error) {
		spec, err := strict[cutSpec](data)
		return Cut{Direction: spec.Direction, Refuse: spec.Refuse}, err
	},
	"Latency": func(data []byte) (Fault, error) {
		spec, err := strict[latencySpec](data)
		var jitter time.Duration
		if spec.Jitter != nil {
			jitter = spec.Jitter.Duration
		}
		return Latency{Direction: spec.Direction, Delay: spec.Delay.Duration, Jitter: jitter}, err
	},
	"Bandwidth": func(data []byte) (Fault, error) {
		spec, err := strict[bandwidthSpec](data)
		return Bandwidth{Direction: spec.Direction, BytesPerSecond: spec.BytesPerSecond.Value()}, err
	},
	"Reset": func(data []byte) (Fault, error) {
		_, err := strict[resetSpec](data)
		return Reset{}, err
	},
	"Fail": plainly[Fail], "Abort": plainly[Abort], "Delay": plainly[Delay], "Hold": plainly[Hold],
	"DropAnswer": plainly[DropAnswer],
	"Crash":      plainly[Crash], "Tripwire": plainly[Tripwire], "SizeLimit": plainly[SizeLimit],
	"StaleList":   plainly[StaleList],
	"FrozenWatch": plainly[FrozenWatch], "CloseWatch": plainly[CloseWatch], "GoneWatch": plainly[GoneWatch],
}

func read(kind string, data []byte) (Fault, error) {
	if known, ok := types[kind]; ok {
		return known(data)
	}
	return nil, fmt.Errorf("unknown type: must be one of %s", strings.Join(slices.Sorted(maps.Keys(types)), ", "))
}

// plainly reads a fault whose Go type is its form in JSON, but for the type.
func plainly[T Fault](data []byte) (Fault, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	delete(fields, "type")
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return strict[T](rest)
}

// typed writes a fault whose Go type is its form in JSON, with its type in front.
func typed(kind string, plain any) ([]byte, error) {
	body, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, `{"type":%q`, kind)
	if len(body) > len("{}") {
		head = append(head, ',')
	}
	return append(head, body[1:]...), nil
}

func strict[T any](data []byte) (T, error) {
	var spec T
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&spec)
	return spec, err
}
