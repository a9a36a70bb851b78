package profile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/timeline"
)

func links(requests ...int64) []timeline.LinkSeen {
	return []timeline.LinkSeen{{
		From: "gardenlet-a", To: "garden", Requests: requests[0] + requests[1], BytesToServer: 10 * requests[0],
		BytesToClient: 100 * requests[1],
		Kinds: []timeline.RequestsSeen{
			{Verb: "get", Resource: "shoots.core.gardener.cloud", Requests: requests[0]},
			{Verb: "patch", Resource: "leases.coordination.k8s.io", Requests: requests[1]},
		},
	}}
}

func seconds(s float64) timeline.Length { return timeline.Length(s * float64(time.Second)) }

func at(s float64, p timeline.Payload) timeline.Event {
	return timeline.Event{At: time.Duration(seconds(s)), Payload: p}
}

func TestOf_CountersBetweenSteps_AreThoseOfThePhase(t *testing.T) {
	t.Parallel()
	engine := timeline.ProcessSeen{PID: 1, Program: "run", CPU: seconds(1), WakeUps: 10}
	server := timeline.ProcessSeen{PID: 2, Program: "kube-apiserver", Parent: 1, CPU: seconds(5), WakeUps: 100}
	busy, worked := engine, server
	busy.CPU, busy.Ended = seconds(1.5), seconds(7)
	worked.CPU, worked.WakeUps = seconds(6), 130
	later := timeline.ProcessSeen{PID: 3, Program: "kube-apiserver", Parent: 1, CPU: seconds(4)}
	phases := Of([]timeline.Event{
		at(1, timeline.CostSeen{Links: links(5, 1), Processes: []timeline.ProcessSeen{engine, server}}),
		at(3, timeline.CostSeen{Links: links(15, 2), Processes: []timeline.ProcessSeen{engine, worked}}),
		at(3, timeline.StepStarted{Verb: "wait"}),
		at(4, timeline.StepEnded{Verb: "wait"}),
		at(4, timeline.CostSeen{Links: links(15, 3), Processes: []timeline.ProcessSeen{engine, worked}}),
		at(4, timeline.StepStarted{Verb: "fault"}),
		at(4.5, timeline.StepEnded{Verb: "fault"}),
		at(4.5, timeline.CostSeen{Links: links(16, 3), Processes: []timeline.ProcessSeen{engine, worked}}),
		at(4.5, timeline.StepStarted{Verb: "expect"}),
		at(9, timeline.StepEnded{Verb: "expect"}),
		// The first server has ended after one more second of work, and another one was started.
		at(9, timeline.CostSeen{Links: links(20, 4), Processes: []timeline.ProcessSeen{busy, later}}),
		at(10, timeline.CostSeen{Links: links(20, 5), Processes: []timeline.ProcessSeen{busy, later}}),
	})
	get, patch := "get", "patch"
	request := func(verb string, n int64) Request {
		resource := map[string]string{get: "shoots.core.gardener.cloud", patch: "leases.coordination.k8s.io"}[verb]
		return Request{From: "gardenlet-a", To: "garden", Verb: verb, Resource: resource, Requests: n}
	}
	link := func(requests, bytes int64) []Link {
		return []Link{{From: "gardenlet-a", To: "garden", Requests: requests, Bytes: bytes}}
	}
	want := []Phase{
		{Name: Landscape, Seconds: 1, Links: link(6, 150), Requests: []Request{request(get, 5), request(patch, 1)},
			Programs: []Program{{Program: "kube-apiserver", Parent: "run", CPUSeconds: 5, WakeUps: 100},
				{Program: "run", CPUSeconds: 1, WakeUps: 10}}},
		{Name: SetUp, Seconds: 2, Links: link(11, 200), Requests: []Request{request(get, 10), request(patch, 1)},
			Programs: []Program{{Program: "kube-apiserver", Parent: "run", CPUSeconds: 1, WakeUps: 30}}},
		{Name: AtRest, Seconds: 1, Links: link(1, 100), Requests: []Request{request(patch, 1)}},
		{Name: Recovery, Seconds: 5, Links: link(6, 150), Requests: []Request{request(get, 5), request(patch, 1)},
			Programs: []Program{{Program: "kube-apiserver", Parent: "run", CPUSeconds: 4},
				{Program: "(ended)", Parent: "run", CPUSeconds: 1}, {Program: "run", CPUSeconds: 0.5}}},
		{Name: Settling, Seconds: 1, Links: link(1, 100), Requests: []Request{request(patch, 1)}},
	}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}

func TestOf_RecordWithoutCounters_HasNoPhases(t *testing.T) {
	t.Parallel()
	if phases := Of([]timeline.Event{at(1, timeline.StepStarted{Verb: "wait"})}); phases != nil {
		t.Errorf("a record without counters has the phases %+v", phases)
	}
}
