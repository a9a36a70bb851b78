package link

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// Spec is a fault as JSON: an object with its "type" and its fields, durations as strings and sizes as quantities.
//
//	{"type":"Cut","direction":"ToServer","refuse":true}
//	{"type":"Latency","delay":"75ms","jitter":"10ms"}
//	{"type":"Bandwidth","bytesPerSecond":"64Ki"}
//	{"type":"Reset"}
//	{"type":"Fail","match":{"verbs":["patch"],"resource":"shoots"},"turn":{"nth":2},"status":503}
type Spec struct{ Fault }

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
	"Cut": whole[wire.Cut], "Latency": whole[wire.Latency], "Bandwidth": whole[wire.Bandwidth],
	"Reset": whole[wire.Reset], "Loss": plainly[wire.Loss], "Duplicate": plainly[wire.Duplicate],

	"Fail": plainly[requests.Fail], "Abort": plainly[requests.Abort], "Delay": plainly[requests.Delay],
	"Hold": plainly[requests.Hold], "DropAnswer": plainly[requests.DropAnswer], "Crash": plainly[requests.Crash],
	"Rewrite":  plainly[requests.Rewrite],
	"Tripwire": plainly[requests.Tripwire], "SizeLimit": plainly[requests.SizeLimit],

	"StaleList": plainly[watches.StaleList], "FrozenWatch": plainly[watches.Frozen],
	"CloseWatch": plainly[watches.Closed], "GoneWatch": plainly[watches.Gone],
}

func read(kind string, data []byte) (Fault, error) {
	if known, ok := types[kind]; ok {
		return known(data)
	}
	return nil, fmt.Errorf("unknown type: must be one of %s", strings.Join(slices.Sorted(maps.Keys(types)), ", "))
}

// plainly reads a fault whose Go type is its form in JSON, but for the type.
func plainly[T Fault](data []byte) (Fault, error) { return faultjson.Unmarshal[T](data) }

// whole reads a fault that reads its JSON itself.
func whole[T Fault, P interface {
	*T
	json.Unmarshaler
}](data []byte) (Fault, error) {
	var fault T
	err := P(&fault).UnmarshalJSON(data)
	return fault, err
}
