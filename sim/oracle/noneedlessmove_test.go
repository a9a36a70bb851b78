package oracle_test

import (
	"encoding/json"
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// described is the start of a run on a landscape.
func described(landscape string) timeline.Event {
	return of("", timeline.RunStarted{Definition: json.RawMessage(`{"spec": {"landscape": ` + landscape + `}}`)})
}

// TestNoNeedlessMove: in these histories the shoot must have answered in the 6 seconds before it was bound.
func TestNoNeedlessMove(t *testing.T) {
	t.Parallel()
	second := described(`{"settings": {"secondSign": true, "seedLeaseRenew": "1s", "seedLossGracePeriod": "10s"}}`)
	silent := of("a", timeline.SeedSeen{Conditions: []timeline.ConditionIs{{Type: "GardenletReady", Status: "Unknown"}}})
	on := func(spec, status string) timeline.Event { return seen(shoot(spec, status, "Create", "Succeeded")) }
	// The binding, or what is seen instead, is the last event, at second 21.
	after := func(started timeline.Event, outcome func(second float64) timeline.Outcome,
		last ...timeline.Event) []timeline.Event {
		events := []timeline.Event{started, steady(0), on("a", "a"), silent}
		for len(events)+len(last) < 21 {
			if at := float64(len(events)); outcome(at) != "" {
				events = append(events, reaches(at, outcome(at)))
			} else {
				events = append(events, silent)
			}
		}
		return history(append(events, last...)...)
	}
	until := func(end float64, then timeline.Outcome) func(float64) timeline.Outcome {
		return func(second float64) timeline.Outcome {
			if second <= end {
				return timeline.Acknowledged
			}
			return then
		}
	}
	always, bound := until(30, ""), on("b", "a")
	asked := of("alpha", timeline.StepStarted{Verb: "migrate", To: "b"})
	elsewhere := of("alpha", timeline.StepStarted{Verb: "migrate", To: "c"})
	refused := of("alpha", timeline.StepStarted{Verb: "migrate", To: "b", Refused: true})
	refusedBefore := after(second, always, bound)
	for i, step := range []timeline.Event{refused, elsewhere} {
		refusedBefore[4+i].Subject, refusedBefore[4+i].Payload = step.Subject, step.Payload
	}
	const needless = `alpha: it is evacuated from "a" to "b", though its API answered`
	check(t, oracle.NoNeedlessMove{}, map[string]row{
		"it stays":                        {events: after(second, always)},
		"it answered all the time":        {events: after(second, always, bound), want: needless},
		"it answered nearly all the time": {events: after(second, until(18.5, timeline.Failed), bound), want: needless},
		"it was silent for half of the time": {
			events: after(second, until(17, timeline.Failed), bound),
		},
		"nobody knows what happened": {events: after(second, until(17, timeline.Unknown), bound)},
		"nobody tried": {events: after(second, until(17, ""), bound),
			lacks: `whether alpha answered before it was bound to seed "b": nobody tried for 4s`},
		"asked for":              {events: after(second, always, asked, bound)},
		"another seed asked for": {events: after(second, always, elsewhere, bound), want: needless},
		"asked for, and not refused as it must be":   {events: after(second, always, refused, bound)},
		"asked for and refused, and evacuated later": {events: refusedBefore, want: needless},
		"seen when it was elsewhere": {events: after(second, always, on("b", "b")),
			lacks: `when alpha was bound to seed "b"`},
		"without a second sign": {
			events: after(described(`{"settings": {"seedLossGracePeriod": "10s"}}`), always, bound),
			lacks:  "settings.secondSign"},
		"no seed is silent": {events: history(second, steady(0), on("a", "a")), lacks: "a seed that is silent"},
	})
}

func TestNoCircle(t *testing.T) {
	t.Parallel()
	ring := described(`{"seeds": [{"name": "first"}, {"name": "a", "hostedBy": "c"}, {"name": "b", "hostedBy": "a"},
		{"name": "c", "hostedBy": "b"}]}`)
	chain := described(`{"seeds": [{"name": "first"}, {"name": "a", "hostedBy": "first"}, {"name": "b", "hostedBy": "a"},
		{"name": "c", "hostedBy": "b"}]}`)
	on := func(seed, spec, status string) timeline.Event {
		return of(seed, shoot(spec, status, "Create", "Succeeded"))
	}
	b, c, alpha := on("b", "a", "a"), on("c", "b", "b"), on("alpha", "alpha", "alpha")
	closed := []timeline.Event{ring, on("a", "c", "c"), b, c}
	with := func(events ...timeline.Event) []timeline.Event {
		return history(append(append([]timeline.Event{}, closed...), events...)...)
	}
	check(t, oracle.NoCircle{}, map[string]row{
		"the ring of the landscape": {events: with()},
		"one is restored outside":   {events: with(on("c", "first", "b"), on("c", "first", "first"))},
		"a shoot that is no seed":   {events: with(alpha)},
		"two are to host each other": {events: with(on("a", "b", "c")),
			want: "in a circle, fewer than 3: a is hosted by b, which is hosted by a"},
		"it is one circle, however it is seen": {events: with(on("a", "b", "c"), on("a", "b", "b"), b),
			want: "fewer than 3"},
		"by the status only": {events: with(on("a", "first", "b")), want: "a is hosted by b, which is hosted by a"},
		"it hosts itself":    {events: with(on("a", "a", "c")), want: "fewer than 3: a is hosted by a"},
		"a ring that is none of the landscape": {
			events: history(chain, on("a", "first", "first"), b, c, on("a", "c", "first")),
			want:   "which the landscape does not have: a is hosted by c, which is hosted by b, which is hosted by a"},
		"a chain": {events: history(chain, on("a", "first", "first"), b, c)},
		"a host that was not seen": {events: history(ring, on("a", "c", "c"), b, on("c", "b", "")),
			lacks: `who hosts seed "c"`},
		"nobody is hosted": {events: history(described(`{"seeds": [{"name": "a"}]}`)), lacks: "landscape.seeds[].hostedBy"},
	})
}

// TestNoCircle_CircleThatIsClosedAgain_IsReportedAgain and proved by all its members.
func TestNoCircle_CircleThatIsClosedAgain_IsReportedAgain(t *testing.T) {
	t.Parallel()
	on := func(seed, host string) timeline.Event { return of(seed, shoot(host, host, "Create", "Succeeded")) }
	events := history(described(`{"seeds": [{"name": "first"}, {"name": "a", "hostedBy": "first"},
		{"name": "b", "hostedBy": "a"}]}`), on("b", "a"), on("a", "b"), on("a", "first"), on("a", "b"))
	found := oracle.NoCircle{}.Judge(events)
	if len(found) != 2 || len(found[1].Events) != 2 || found[1].Events[0] != 2 || found[1].Events[1] != 5 {
		t.Errorf("found %v, want a second circle, proved by the events 2 and 5", found)
	}
}
