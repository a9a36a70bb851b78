package oracle_test

import (
	"strings"
	"testing"
	"time"

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

func of(subject string, p timeline.Payload) timeline.Event {
	return timeline.Event{Subject: subject, Payload: p}
}

func by(actor, subject string, p timeline.Payload) timeline.Event {
	return timeline.Event{Actor: actor, Subject: subject, Payload: p}
}

const id = "shoot--p--alpha"

func steady(nodes int) timeline.Event {
	return of("alpha", timeline.ShootSteady{TechnicalID: id, Nodes: nodes})
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
			if lacks := strings.Join(o.Lacks(c.events), "; "); c.lacks != "" && !strings.Contains(lacks, c.lacks) || c.lacks == "" && lacks != "" && c.want == "" {
				t.Errorf("lacks %q, want %q", lacks, c.lacks)
			}
		})
	}
	if rejected == 0 {
		t.Error("the oracle rejects nothing")
	}
}

func TestEveryOracleIsListedAndFound(t *testing.T) {
	t.Parallel()
	for _, name := range oracle.Names() {
		if o, found := oracle.Find(name); !found || o.Name() != name {
			t.Errorf("%s is not found", name)
		}
	}
	if _, found := oracle.Find("SingleReader"); found {
		t.Error("an unknown oracle is found")
	}
}

func TestNothingSeenIsNotGood(t *testing.T) {
	t.Parallel()
	for _, o := range oracle.All() {
		events := history(steady(3))
		if found := o.Judge(events); len(found) > 0 {
			t.Errorf("%s: what was not seen is a violation: %v", o.Name(), found)
		}
		if len(o.Lacks(events)) == 0 {
			t.Errorf("%s lacks nothing though nothing was seen", o.Name())
		}
	}
}
