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
		`{"type":"Bandwidth","bytesPerSecond":"64Ki","burst":1000}`: wire.Bandwidth{BytesPerSecond: 64 << 10, Burst: 1000},
		`{"type":"Latency","delay":"1s","correlation":25,"overtaking":{"percent":5,"correlation":50},"gap":3}`: wire.Latency{
			Delay: time.Second, Correlation: 25, Overtaking: wire.Chance{Percent: 5, Correlation: 50}, Gap: 3},
		`{"type":"Reset"}`: wire.Reset{},
		`{"type":"Loss","direction":"ToServer","percent":2.5,"correlation":25}`: wire.Loss{Direction: wire.ToServer,
			Chance: wire.Chance{Percent: 2.5, Correlation: 25}},
		`{"type":"Duplicate","percent":40}`: wire.Duplicate{Chance: wire.Chance{Percent: 40}},
		`{"type":"Fail","match":{"verbs":["patch"],"resource":"shoots"},"turn":{"nth":2},"status":503}`: requests.Fail{
			Match: kubeapi.Match{Verbs: []string{"patch"}, Resource: "shoots"}, Turn: requests.Turn{Nth: 2}, Status: 503,
		},
		`{"type":"Delay","delay":"1s","at":"After"}`: requests.Delay{Delay: metav1.Duration{Duration: time.Second},
			At: requests.After},
		`{"type":"Hold"}`: requests.Hold{},
		`{"type":"Abort","match":{"path":"/a*","headers":{"a":"b"}},"answers":{"code":404,"headers":{"c":"d"}},` +
			`"at":"After"}`: requests.Abort{Match: kubeapi.Match{Path: "/a*", Headers: map[string]string{"a": "b"}},
			Answers: requests.Answers{Code: 404, Headers: map[string]string{"c": "d"}}, At: requests.After},
		`{"type":"Rewrite","at":"After","replace":{"code":500,"body":"eA=="},"patch":{"headers":[["a","b"]],` +
			`"body":{"c":1}}}`: requests.Rewrite{At: requests.After, Replace: requests.Replacement{Code: 500, Body: []byte("x")},
			Patch: requests.Patch{Headers: [][2]string{{"a", "b"}}, Body: json.RawMessage(`{"c":1}`)}},
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
			`Crash, Cut, Delay, DropAnswer, Duplicate, Fail, FrozenWatch, GoneWatch, Hold, Latency, Loss, Reset, Rewrite, ` +
			`SizeLimit, StaleList, Tripwire`,
		`{"type":"Flood"}`: `read the fault "Flood": unknown type: must be one of Abort, Bandwidth, ` +
			`CloseWatch, Crash, Cut, Delay, DropAnswer, Duplicate, Fail, FrozenWatch, GoneWatch, Hold, Latency, Loss, Reset, ` +
			`Rewrite, SizeLimit, StaleList, Tripwire`,
		`{"type":"Cut","delay":"1s"}`: `read the fault "Cut": json: unknown field "delay"`,
		`{"type":"Cut","direction":"Up"}`: `read the fault "Cut": unknown direction "Up": ` +
			`must be "Both", "ToServer" or "ToClient"`,
		`{"type":"Latency"}`:             `read the fault "Latency": delay 0s: must be positive`,
		`{"type":"Latency","delay":"x"}`: `read the fault "Latency": time: invalid duration "x"`,
		`{"type":"Latency","delay":"1s","jitter":"2s"}`: `read the fault "Latency": jitter 2s: ` +
			`must be between 0 and the delay 1s`,
		`{"type":"Bandwidth"}`: `read the fault "Bandwidth": bandwidth 0 B/s: must be at least 1`,
		`{"type":"Bandwidth","bytesPerSecond":"1","burst":-1}`: `read the fault "Bandwidth": burst of -1 B: must not be ` +
			`negative`,
		`{"type":"Loss"}`: `read the fault "Loss": 0 % of the packets: must be above 0 and at most 100`,
		`{"type":"Duplicate","percent":101}`: `read the fault "Duplicate": 101 % of the packets: must be above 0 and at ` +
			`most 100`,
		`{"type":"Loss","percent":1,"correlation":-1}`: `read the fault "Loss": correlation -1 %: must be from 0 to 100`,
		`{"type":"Latency","delay":"1s","correlation":101}`: `read the fault "Latency": correlation 101 %: must be from 0 ` +
			`to 100`,
		`{"type":"Latency","delay":"1s","overtaking":{"percent":-1}}`: `read the fault "Latency": -1 % of the packets: ` +
			`must be above 0 and at most 100`,
		`{"type":"Latency","delay":"1s","gap":-1}`: `read the fault "Latency": gap -1: must not be negative`,
		`{"type":"Fail"}`:                          `read the fault "Fail": status 0: must be from 400 to 599`,
		`{"type":"Fail","status":500,"turn":{"nth":1,"from":2}}`: `read the fault "Fail": nth 1: ` +
			`stands alone, without from, every and times`,
		`{"type":"Fail","status":500,"turn":{"every":-1}}`: `read the fault "Fail": nth 0, from 0, every -1, times 0: ` +
			`must not be negative`,
		`{"type":"Hold","match":{"verbs":["read"]}}`: `read the fault "Hold": unknown verb "read": ` +
			`must be one of get, list, watch, create, update, patch, apply, delete, deletecollection`,
		`{"type":"Hold","at":"Later"}`: `read the fault "Hold": unknown moment "Later": must be "Before" or ` +
			`"After"`,
		`{"type":"Rewrite"}`: `read the fault "Rewrite": nothing to replace or to ` +
			`patch is given`,
		`{"type":"Rewrite","replace":{"code":500}}`:             `read the fault "Rewrite": code 500: a request has none`,
		`{"type":"Rewrite","at":"After","replace":{"code":99}}`: `read the fault "Rewrite": code 99: must be from 200 to 599`,
		`{"type":"Rewrite","at":"After","patch":{"queries":[["a","b"]]}}`: `read the fault "Rewrite": path, method and ` +
			`queries: an answer has none`,
		`{"type":"Abort","answers":{"code":404}}`: `read the fault "Abort": answers with code 404, headers map[]: the ` +
			`moment must be "After"`,
		`{"type":"Hold","delay":"1s"}`: `read the fault "Hold": json: unknown field "delay"`,
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
		"Bandwidth(Both,1000 B/s)":            wire.Bandwidth{BytesPerSecond: 1000},
		"Bandwidth(Both,1000 B/s,burst 10 B)": wire.Bandwidth{BytesPerSecond: 1000, Burst: 10},
		"Latency(Both,75ms~25%,overtaking 5%)": wire.Latency{Delay: 75 * time.Millisecond, Correlation: 25,
			Overtaking: wire.Chance{Percent: 5}},
		"Loss(ToServer,30%~25%)": wire.Loss{Direction: wire.ToServer, Chance: wire.Chance{Percent: 30, Correlation: 25}},
		"Duplicate(Both,30%)":    wire.Duplicate{Chance: wire.Chance{Percent: 30}},
		"Reset":                  wire.Reset{},
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
