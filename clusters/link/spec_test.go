package link_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

func TestFaultJSON(t *testing.T) {
	t.Parallel()
	for text, fault := range map[string]link.Fault{
		`{"type":"Cut"}`: wire.Cut{},
		`{"type":"Cut","direction":"ToServer","refuse":true}`: wire.Cut{Direction: wire.ToServer,
			Refuse: true},
		`{"type":"Latency","delay":"75ms"}`: wire.Latency{
			Delay: 75 * time.Millisecond},
		`{"type":"Latency","direction":"ToClient","delay":"1m30s","jitter":"10ms"}`: wire.Latency{Direction: wire.ToClient,
			Delay: 90 * time.Second, Jitter: 10 * time.Millisecond},
		`{"type":"Bandwidth","direction":"Both","bytesPerSecond":"64Ki"}`: wire.Bandwidth{Direction: wire.Both,
			BytesPerSecond: 64 << 10},
		`{"type":"Reset"}`: wire.Reset{},
		`{"type":"Fail","match":{"verbs":["patch"],"resource":"shoots"},"turn":{"nth":2},"status":503}`: requests.Fail{
			Match: kubeapi.Match{Verbs: []string{"patch"}, Resource: "shoots"}, Turn: requests.Turn{Nth: 2}, Status: 503,
		},
		`{"type":"Delay","delay":"1s","at":"After"}`: requests.Delay{Delay: metav1.Duration{Duration: time.Second},
			At: requests.After},
		`{"type":"Hold"}`: requests.Hold{},
		`{"type":"DropAnswer","turn":{"from":3,"every":2}}`: requests.DropAnswer{Turn: requests.Turn{From: 3, Every: 2}},
		`{"type":"Crash","at":"Before"}`:                    requests.Crash{At: requests.Before},
		`{"type":"Tripwire"}`:                               requests.Tripwire{},
		`{"type":"SizeLimit","bytes":1024}`:                 requests.SizeLimit{Bytes: 1024},
		`{"type":"StaleList"}`:                              watches.StaleList{},
		`{"type":"FrozenWatch","match":{"name":"x"}}`:       watches.Frozen{Match: kubeapi.Match{Name: "x"}},
		`{"type":"CloseWatch","life":"1s"}`:                 watches.Closed{Life: metav1.Duration{Duration: time.Second}},
		`{"type":"GoneWatch"}`:                              watches.Gone{},
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
		`[]`: `read the type of a fault: json: cannot unmarshal array into Go value of type ` +
			`struct { Type string }`,
		`{}`: `read the fault "": unknown type: must be one of Abort, Bandwidth, CloseWatch, ` +
			`Crash, Cut, Delay, DropAnswer, Fail, FrozenWatch, GoneWatch, Hold, Latency, Reset, SizeLimit, StaleList, Tripwire`,
		`{"type":"Flood"}`: `read the fault "Flood": unknown type: must be one of Abort, Bandwidth, ` +
			`CloseWatch, Crash, Cut, Delay, DropAnswer, Fail, FrozenWatch, GoneWatch, Hold, Latency, Reset, SizeLimit, ` +
			`StaleList, Tripwire`,
		`{"type":"Cut","delay":"1s"}`: `read the fault "Cut": json: unknown field "delay"`,
		`{"type":"Cut","direction":"Up"}`: `read the fault "Cut": unknown direction "Up": ` +
			`must be "Both", "ToServer" or "ToClient"`,
		`{"type":"Latency"}`:             `read the fault "Latency": delay 0s: must be positive`,
		`{"type":"Latency","delay":"x"}`: `read the fault "Latency": time: invalid duration "x"`,
		`{"type":"Latency","delay":"1s","jitter":"2s"}`: `read the fault "Latency": jitter 2s: ` +
			`must be between 0 and the delay 1s`,
		`{"type":"Bandwidth"}`: `read the fault "Bandwidth": bandwidth 0 B/s: must be at least 1`,
		`{"type":"Fail"}`:      `read the fault "Fail": status 0: must be from 400 to 599`,
		`{"type":"Fail","status":500,"turn":{"nth":1,"from":2}}`: `read the fault "Fail": nth 1: ` +
			`stands alone, without from, every and times`,
		`{"type":"Fail","status":500,"turn":{"every":-1}}`: `read the fault "Fail": nth 0, from 0, every -1, times 0: ` +
			`must not be negative`,
		`{"type":"Hold","match":{"verbs":["read"]}}`: `read the fault "Hold": unknown verb "read": ` +
			`must be one of get, list, watch, create, update, patch, apply, delete, deletecollection`,
		`{"type":"Hold","at":"Later"}`:          `read the fault "Hold": unknown moment "Later": must be "Before" or "After"`,
		`{"type":"Hold","match":{"path":"/["}}`: `read the fault "Hold": path "/[": syntax error in pattern`,
		`{"type":"Hold","delay":"1s"}`:          `read the fault "Hold": json: unknown field "delay"`,
		`{"type":"SizeLimit","bytes":4000000}`: `read the fault "SizeLimit": limit of 4000000 bytes: ` +
			`must be from 1 to 3145728, which is where a stock API server has it`,
		`{"type":"StaleList","match":{"verbs":["get"]}}`: `read the fault "StaleList": verbs get: ` +
			`must not be given, the fault has its own`,
		`{"type":"Bandwidth","bytesPerSecond":"0"}`: `read the fault "Bandwidth": bandwidth 0 B/s: must be at least 1`,
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
		"Cut(Both)":            wire.Cut{},
		"Cut(ToServer,refuse)": wire.Cut{Direction: wire.ToServer, Refuse: true},
		"Latency(Both,75ms)":   wire.Latency{Delay: 75 * time.Millisecond},
		"Latency(ToClient,75ms±5ms)": wire.Latency{Direction: wire.ToClient, Delay: 75 * time.Millisecond,
			Jitter: 5 * time.Millisecond},
		"Bandwidth(Both,1000 B/s)": wire.Bandwidth{BytesPerSecond: 1000},
		"Reset":                    wire.Reset{},
		"Fail(503,patch shoots)": requests.Fail{Status: 503, Match: kubeapi.Match{Verbs: []string{"patch"},
			Resource: "shoots"}},
		"Crash(Before,core n configmaps/x/status)": requests.Crash{Match: kubeapi.Match{Group: "core", Namespace: "n",
			Resource: "configmaps", Name: "x", Subresource: "status"}},
	} {
		if fault.Name() != want {
			t.Errorf("got %q, want %q", fault.Name(), want)
		}
	}
}
