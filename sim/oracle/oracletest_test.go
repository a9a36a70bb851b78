package oracle_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// history builds a timeline in which each event happens a second after the one before.
func history(events ...timeline.Event) []timeline.Event {
	for i := range events {
		events[i].Seq, events[i].At, events[i].Kind = i+1, time.Duration(i+1)*time.Second, events[i].Payload.Kind()
		if call, is := events[i].Payload.(timeline.CloudCalled); is && call.Made == 0 {
			call.Made = timeline.Moment(events[i].At)
			events[i].Payload = call
		}
	}
	return events
}

// whole is a history of a run that came to its end.
func whole(events ...timeline.Event) []timeline.Event {
	return history(append(events, of("", timeline.RunEnded{}))...)
}

func of(subject string, p timeline.Payload) timeline.Event {
	return timeline.Event{Subject: subject, Payload: p}
}

func by(actor, subject string, p timeline.Payload) timeline.Event {
	return timeline.Event{Actor: actor, Subject: subject, Payload: p}
}

const id = "shoot--p--alpha"

func steady(nodes int) timeline.Event {
	return of("alpha", timeline.ShootReady{TechnicalID: id, Nodes: nodes})
}

func step(verb string) timeline.Event { return of("alpha", timeline.StepStarted{Verb: verb}) }

func seconds(n float64) timeline.Moment { return timeline.Moment(n * float64(time.Second)) }

// row is one short history; want is a part of the only violation, or empty when there must be none. With lacks the
// oracle must miss evidence.
type row struct {
	events []timeline.Event
	want   string
	lacks  string
}

func check(t *testing.T, o oracle.Oracle, rows map[string]row) {
	t.Helper()
	rejected := 0
	for name, c := range rows {
		if c.want != "" {
			rejected++
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := o.Judge(c.events)
			switch {
			case c.want == "" && len(found) > 0:
				t.Errorf("a false alarm: %v", found)
			case c.want != "" && (len(found) != 1 || !strings.Contains(found[0].Message, c.want) || found[0].Oracle != o.Name()):
				t.Errorf("found %v, want one violation with %q", found, c.want)
			}
			for _, v := range found {
				checkProof(t, c.events, v)
				checkCertain(t, o, c.events, v)
			}
			checkParts(t, o, c.events)
			if lacks := strings.Join(o.Lacks(c.events), "; "); c.lacks != "" && !strings.Contains(lacks, c.lacks) ||
				c.lacks == "" && lacks != "" && c.want == "" {
				t.Errorf("lacks %q, want %q", lacks, c.lacks)
			}
		})
	}
	if rejected == 0 {
		t.Error("the oracle rejects nothing")
	}
}

// checkProof wants every violation proved by events of the history, in order, about what it says.
func checkProof(t *testing.T, events []timeline.Event, v oracle.Violation) {
	t.Helper()
	if len(v.Events) == 0 || !slices.IsSorted(v.Events) || len(slices.Compact(slices.Clone(v.Events))) != len(v.Events) {
		t.Errorf("%q is proved by the events %v", v.Message, v.Events)
	}
	for _, seq := range v.Events {
		if seq < 1 || seq > len(events) {
			t.Errorf("%q is proved by event %d of %d", v.Message, seq, len(events))
		}
	}
}

func TestViolationsNameTheEventsThatProveThem(t *testing.T) {
	t.Parallel()
	kept := timeline.Write{Number: 1, Key: "k", Verb: "create", Outcome: timeline.Acknowledged, Sent: seconds(1),
		Answered: seconds(2), ResourceVersion: 5, UID: "u"}
	lost := timeline.Write{Number: 2, Key: "k", Verb: "patch", Outcome: timeline.Acknowledged, Sent: seconds(3),
		Answered: seconds(4), ResourceVersion: 6, UID: "u"}
	events := history(steady(0), of("alpha", kept), of("alpha", lost), of("alpha", timeline.Note{Text: "quiet"}),
		of("alpha", timeline.DataSeen{Keys: []timeline.DataKey{{Key: "k", Number: 1, UID: "u"}}}))
	found := oracle.NoLostWrite{}.Judge(events)
	if len(found) != 1 {
		t.Fatalf("found %v, want the lost write", found)
	}
	if diff := cmp.Diff([]int{3, 5}, found[0].Events); diff != "" {
		t.Errorf("the write and the look at the data prove it (-want +got):\n%s", diff)
	}
}

func TestEveryOracleIsListedAndFound(t *testing.T) {
	t.Parallel()
	const document = "docs/scenarios.md"
	listed, err := os.ReadFile("../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range oracle.Names() {
		if !strings.Contains(string(listed), "\n| "+name+" | ") {
			t.Errorf("%s has no row in the table of oracles of %s", name, document)
		}
		if o, found := oracle.Find(name); !found || o.Name() != name {
			t.Errorf("%s is not found", name)
		}
		if oracle.Promise(name) == "" {
			t.Errorf("%s has no sentence that says what it promises", name)
		}
	}
	if _, found := oracle.Find("SingleReader"); found {
		t.Error("an unknown oracle is found")
	}
}

func TestUnseen_OfARecordInWhichNothingWasSeen_IsNeverEmpty(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]timeline.Event{
		"no events":          nil,
		"no shoot was ready": history(of("", timeline.RunStarted{}), of("", timeline.RunEnded{})),
		"nobody has looked":  history(steady(3)),
	} {
		for _, o := range oracle.All() {
			if found := o.Judge(events); len(found) > 0 {
				t.Errorf("%s: %s: what was not seen is a violation: %v", name, o.Name(), found)
			}
			if len(oracle.Unseen(o, events)) == 0 {
				t.Errorf("%s: %s lacks nothing", name, o.Name())
			}
		}
	}
}
