package wording_test

import (
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/wording"
)

func TestSentence_EveryKind_IsOneLine(t *testing.T) {
	t.Parallel()
	for _, p := range timeline.Kinds() {
		if _, note := p.(timeline.Note); note {
			continue // its text is the sentence
		}
		text := wording.Sentence(timeline.Event{Kind: p.Kind(), Payload: p})
		if text == "" || strings.Contains(text, "\n") {
			t.Errorf("%s is described as %q", p.Kind(), text)
		}
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	second := timeline.Moment(time.Second)
	for _, c := range []struct {
		payload timeline.Payload
		want    string
	}{
		{timeline.Write{Number: 7, Key: "w-1", Verb: "patch", Outcome: timeline.Acknowledged, Sent: second,
			Answered: second + timeline.Moment(13*time.Millisecond), ResourceVersion: 42},
			"write 7: patch w-1, acknowledged in 13ms, revision 42"},
		{timeline.Write{Number: 8, Key: "w-1", Verb: "patch", Outcome: timeline.Failed, Sent: second, Answered: 2 * second,
			Status: 503, Error: "no backend"},
			"write 8: patch w-1, failed in 1s, HTTP 503: no backend"},
		{timeline.Reached{Outcome: timeline.Failed, Sent: second, Answered: 2 * second, Error: "refused"},
			"the API does not answer (failed, after 1s): refused"},
		{timeline.VersionsSeen{Resource: "configmaps", Source: "watch", Versions: []int64{5, 6, 9}},
			"configmaps by watch: 3 versions, 5 to 9"},
		{timeline.ShootSeen{SpecSeed: "b", StatusSeed: "a", Operation: timeline.Operation{Type: "Migrate",
			State: "Processing", Progress: 43, Description: "Saving"},
			Conditions: []timeline.ConditionIs{{Type: "EveryNodeReady", Status: "Unknown", Reason: "Unseen",
				Message: "no\n answer"}, {Type: "Fine", Status: "True"}}},
			"bound to b, on a; Migrate Processing 43%: Saving; EveryNodeReady is Unknown: Unseen: no answer"},
		{timeline.SeedSeen{}, "has no conditions yet"},
		{timeline.SeedSeen{Conditions: []timeline.ConditionIs{{Type: "GardenletReady", Status: "True"}}},
			"every condition is True"},
		{timeline.SeedSeen{Deleting: true, Conditions: []timeline.ConditionIs{{Type: "GardenletReady", Status: "Unknown"}}},
			"being deleted; GardenletReady is Unknown"},
		{timeline.SeedSeen{Absent: true}, "there is no such Seed any more"},
		{timeline.CloudCalled{Verb: "delete", What: "machines", ID: "m-1", Outcome: "Fenced", Epoch: 2},
			"delete machines m-1: Fenced, as epoch 2"},
		{timeline.ExtensionStateSeen{Seed: "b", Object: "Extension vault", Operation: timeline.Operation{Type: "Restore",
			State: "Succeeded"}, Holds: "0123456789"},
			"Extension vault on seed b: Restore Succeeded, status.state 01234567"},
		{timeline.ExtensionStateSeen{Seed: "a", Object: "Worker w", Operation: timeline.Operation{Type: "Migrate",
			State: "Error"}, Error: "no\nquota", Uncompared: true}, "Worker w on seed a: Migrate Error (no quota)"},
		{timeline.ExtensionStateSeen{Seed: "a", Object: "Worker w", Operation: timeline.Operation{Type: "Create",
			State: "Succeeded"}, Asked: "migrate", Uncompared: true}, "Worker w on seed a: Create Succeeded, asked to migrate"},
		{timeline.ExtensionStateSeen{Seed: "b", Object: "Extension vault"}, "Extension vault on seed b, status.state none"},
		{timeline.ExtensionStateSeen{Seed: "a", Object: "Extension vault", Gone: true}, "Extension vault on seed a is gone"},
		{timeline.ObjectsSeen{Resources: []timeline.ResourceSeen{{Objects: make([]timeline.ObjectSeen, 2)}, {}},
			Unreadable: []string{"group x"}},
			"everything in the shoot: 2 objects of 2 resources; unreadable: group x"},
		{timeline.Looked{Looks: 10, Failed: 1}, "looked 10 times; failed once"},
		{timeline.Looked{Follows: true}, "looked 0 times, and follows"},
		{timeline.Looked{Looks: 2, Ended: true}, "looked 2 times, and ends"},
		{timeline.Looked{Looks: 3, Failed: 3, Final: true}, "has looked for the last time, 3 times; failed 3 times"},
		{timeline.Observed{That: "shoot('alpha').healthy"}, "observed, for shoot('alpha').healthy"},
		{timeline.Observed{That: strings.Repeat("!", 90) + "shoot('alpha').healthy"}, "observed, for " +
			strings.Repeat("!", 79) + "…"},
		{timeline.ConditionMet{Saw: "shoot(\"alpha\").healthy is true"}, "met: shoot(\"alpha\").healthy is true"},
		{timeline.ActorEnded{Who: "vault-a", Cluster: "a", Container: "vault", ExitCode: 3, Reason: "Error", Restarts: 2,
			Log: []string{"one", "two"}},
			"vault of vault-a has ended in a with exit code 3, 2 restarts, its log ends with: two"},
		{timeline.ActorEnded{Who: "gardenlet-a", Cluster: "a", Container: "gardenlet", ExitCode: 137, Signal: 9,
			Reason: "OOMKilled"},
			"gardenlet of gardenlet-a has ended in a with exit code 137, by signal 9 (OOMKilled), 0 restarts"},
		{timeline.Settled{Waiting: []string{"alpha", "beta"}}, "not settled in time: alpha; beta"},
		{timeline.Settled{Waiting: []string{"alpha"}, Unknown: []string{"beta cannot be read"}},
			"not settled in time: alpha; not known: beta cannot be read"},
		{timeline.Settled{Unknown: []string{"beta cannot be read"}}, "not settled in time: not known: beta cannot be read"},
	} {
		if got := wording.Sentence(timeline.Event{Payload: c.payload}); got != c.want {
			t.Errorf("%T is described as\n  %s\nwant\n  %s", c.payload, got, c.want)
		}
	}
}
