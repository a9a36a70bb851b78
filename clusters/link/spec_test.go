package link_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/link"
)

func TestFaultJSON(t *testing.T) {
	t.Parallel()
	for text, fault := range map[string]link.Fault{
		`{"type":"Cut"}`: link.Cut{},
		`{"type":"Cut","direction":"ToServer","refuse":true}`:                       link.Cut{Direction: link.ToServer, Refuse: true},
		`{"type":"Latency","delay":"75ms"}`:                                         link.Latency{Delay: 75 * time.Millisecond},
		`{"type":"Latency","direction":"ToClient","delay":"1m30s","jitter":"10ms"}`: link.Latency{Direction: link.ToClient, Delay: 90 * time.Second, Jitter: 10 * time.Millisecond},
		`{"type":"Bandwidth","direction":"Both","bytesPerSecond":"64Ki"}`:           link.Bandwidth{Direction: link.Both, BytesPerSecond: 64 << 10},
		`{"type":"Reset"}`: link.Reset{},
	} {
		var got link.Spec
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(fault, got.Fault); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		for _, value := range []any{fault, got} {
			if back, err := json.Marshal(value); err != nil || string(back) != text {
				t.Errorf("%s is written as %s, %v", text, back, err)
			}
		}
	}
}

func TestFaultJSONErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                              `read the type of a fault: json: cannot unmarshal array into Go value of type struct { Type string }`,
		`{}`:                              `read the fault "": unknown type: must be Cut, Latency, Bandwidth or Reset`,
		`{"type":"Flood"}`:                `read the fault "Flood": unknown type: must be Cut, Latency, Bandwidth or Reset`,
		`{"type":"Cut","delay":"1s"}`:     `read the fault "Cut": json: unknown field "delay"`,
		`{"type":"Cut","direction":"Up"}`: `read the fault "Cut": unknown direction "Up": must be "Both", "ToServer" or "ToClient"`,
		`{"type":"Latency"}`:              `read the fault "Latency": delay 0s: must be positive`,
		`{"type":"Latency","delay":"x"}`:  `read the fault "Latency": time: invalid duration "x"`,
		`{"type":"Latency","delay":"1s","jitter":"2s"}`: `read the fault "Latency": jitter 2s: must be between 0 and the delay 1s`,
		`{"type":"Bandwidth"}`:                          `read the fault "Bandwidth": bandwidth 0 B/s: must be at least 1`,
		`{"type":"Bandwidth","bytesPerSecond":"0"}`:     `read the fault "Bandwidth": bandwidth 0 B/s: must be at least 1`,
	} {
		var got link.Spec
		if err := json.Unmarshal([]byte(text), &got); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestFaultNames(t *testing.T) {
	t.Parallel()
	for want, fault := range map[string]link.Fault{
		"Cut(Both)":                  link.Cut{},
		"Cut(ToServer,refuse)":       link.Cut{Direction: link.ToServer, Refuse: true},
		"Latency(Both,75ms)":         link.Latency{Delay: 75 * time.Millisecond},
		"Latency(ToClient,75ms±5ms)": link.Latency{Direction: link.ToClient, Delay: 75 * time.Millisecond, Jitter: 5 * time.Millisecond},
		"Bandwidth(Both,1000 B/s)":   link.Bandwidth{BytesPerSecond: 1000},
		"Reset":                      link.Reset{},
	} {
		if fault.Name() != want {
			t.Errorf("got %q, want %q", fault.Name(), want)
		}
	}
}
