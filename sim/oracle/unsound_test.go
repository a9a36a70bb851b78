package oracle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

const beat = timeline.Length(5 * time.Second)

func started() timeline.Event { return of("", timeline.RunStarted{Heartbeat: beat}) }

// recorded is a history with heartbeats.
func recorded(events ...timeline.Event) []timeline.Event {
	return history(append([]timeline.Event{started()}, events...)...)
}

// ends is the end of a run that has settled, and in which so many writes were recorded.
func ends(writes int) []timeline.Event {
	return []timeline.Event{
		of("", timeline.Settling{Quiet: timeline.Length(time.Second)}), settledSince(3), of("", timeline.RunEnded{
			Recorded: map[timeline.Kind]int{"Write": writes, "Settling": 1, "Settled": 1},
		}),
	}
}

func settledSince(at float64) timeline.Event {
	return of("", timeline.Settled{Converged: true, Since: seconds(at), Objects: 5})
}

func begins(index int, verb, subject string) timeline.Event {
	return of(subject, timeline.StepStarted{Index: index, Verb: verb, Text: verb})
}

func stepDone(index int, subject string) timeline.Event {
	return of(subject, timeline.StepEnded{Index: index, Outcome: timeline.StepDone})
}

func cost(requests int64, faults int) timeline.Event {
	return of("", timeline.CostSeen{Links: []timeline.LinkSeen{{From: "user", To: "shoots", Requests: requests,
		Faults: faults}}})
}

func reaches(sent float64, outcome timeline.Outcome) timeline.Event {
	return by("user", "alpha", timeline.Reached{Outcome: outcome, Sent: seconds(sent), Answered: seconds(sent + 0.1)})
}

func unanswered(sent float64) timeline.Event {
	return by("user", "alpha", timeline.Read{Key: "k", Outcome: timeline.Unknown, Sent: seconds(sent),
		Answered: seconds(sent + 0.1)})
}

func wrote(change func(*timeline.Write)) timeline.Event {
	w := timeline.Write{Number: 1, Key: "k", Verb: "create", Outcome: timeline.Acknowledged, Sent: seconds(1),
		Answered: seconds(1.5), ResourceVersion: 7, UID: "u"}
	if change != nil {
		change(&w)
	}
	return by("user", "alpha", w)
}

// entry of the cloud's ledger.
func entry(number int64) timeline.Event {
	return of("", timeline.CloudCalled{Number: number, Made: seconds(1)})
}

func bound(spec string) timeline.Event {
	return seen(timeline.ShootSeen{SpecSeed: spec, StatusSeed: "a"})
}

func TestUnsound_RecordThatContradictsItself_IsNamed(t *testing.T) {
	t.Parallel()
	move := of("alpha", timeline.StepStarted{Verb: "migrate", To: "b", Text: "migrate"})
	quiet := of("", timeline.Settling{Quiet: timeline.Length(2 * time.Second)})
	for name, c := range map[string]struct {
		events []timeline.Event
		want   string // part of what is found, or empty
	}{
		"a sound one": {recorded(append([]timeline.Event{wrote(nil)}, ends(1)...)...), ""},
		"events lost": {recorded(append([]timeline.Event{wrote(nil)}, ends(3)...)...),
			"2 of 3 events Write are missing"},
		"events added": {recorded(append([]timeline.Event{wrote(nil)}, ends(0)...)...),
			"1 events Write, and 0 were recorded"},
		"events not counted": {recorded(quiet, settledSince(1), of("", timeline.RunEnded{})), "has not counted"},
		"never settled": {recorded(of("", timeline.RunEnded{Recorded: map[timeline.Kind]int{"Write": 0}})),
			"nobody has waited until"},
		"settled twice":     {recorded(quiet, settledSince(1), settledSince(1)), "has settled, and was not to"},
		"settled by itself": {recorded(of("", timeline.Settled{Unknown: []string{"a"}})), "has settled, and was not to"},
		"unsettled unsaid":  {recorded(quiet, of("", timeline.Settled{})), "nothing says why"},
		"a step not ended": {
			recorded(begins(0, "load", ""), of("", timeline.RunEnded{Recorded: map[timeline.Kind]int{"StepStarted": 1}})),
			"step 1 has not ended; nobody has waited",
		},
		"cut short": {recorded(begins(0, "load", ""),
			of("", timeline.RunEnded{Error: "x", Recorded: map[timeline.Kind]int{"StepStarted": 1}})), ""},
		"a step left out": {recorded(begins(0, "load", ""), stepDone(0, ""), begins(2, "load", "")),
			"step 3 begins after step 1"},
		"two steps at once": {recorded(begins(0, "load", ""), begins(1, "load", "")),
			"step 2 begins, and step 1 is not done"},
		"a step after the end": {
			recorded(begins(0, "expect", ""), of("", timeline.StepEnded{Outcome: timeline.StepUnmet}), begins(1, "load", "")),
			"step 2 begins, and step 1 is not done",
		},
		"a step when all is over": {recorded(quiet, begins(0, "load", "")), "step 1 begins when the steps are over"},
		"settling in the middle":  {recorded(begins(0, "load", ""), quiet), "is to settle in the middle"},
		"a heal before the fault": {recorded(of("f", timeline.FaultHealed{}), of("f", timeline.FaultInjected{}),
			of("f", timeline.FaultHealed{})), "is healed and has not begun"},
		"a fault after all are healed": {recorded(quiet, of("f", timeline.FaultInjected{})),
			"begins a second time, or after all"},
		"a fault that begins once more": {recorded(of("f", timeline.FaultInjected{}), of("f", timeline.FaultInjected{})),
			"begins a second time, or after all"},
		"acknowledged unasked": {
			recorded(wrote(func(w *timeline.Write) { w.UID = "" })),
			"nothing shows that it was written",
		},
		"refused without UID": {
			recorded(wrote(func(w *timeline.Write) { w.UID, w.Outcome = "", timeline.Failed })),
			"",
		},
		"times swapped": {
			recorded(wrote(func(w *timeline.Write) { w.Sent, w.Answered = w.Answered, w.Sent })),
			"answered before it was sent",
		},
		"no time at all": {
			recorded(wrote(func(w *timeline.Write) { w.Sent = 0 })),
			"sent before the run began",
		},
		"recorded too early": {
			recorded(wrote(func(w *timeline.Write) { w.Answered = seconds(9) })),
			"recorded before it was answered",
		},
		"settled after a look": {
			recorded(quiet, of("", timeline.Settled{Converged: true, Since: seconds(2.9), Objects: 5})),
			"called settled after a look of 100ms",
		},
		"settled unseen": {
			recorded(quiet, of("", timeline.Settled{Converged: true, Since: seconds(1)})),
			"not one object",
		},
		"settled": {
			recorded(quiet, of("", timeline.Settled{Converged: true, Since: seconds(1), Objects: 5})),
			"",
		},
		"not settled": {recorded(quiet, of("", timeline.Settled{Waiting: []string{"a"}})), ""},
		"a fault that is": {
			recorded(begins(0, "fault", "f"), of("f", timeline.FaultInjected{}), stepDone(0, "f")),
			"",
		},
		"a fault that waits": {
			recorded(begins(0, "fault", "f"), of("f", timeline.FaultAwaited{}), stepDone(0, "f")),
			"",
		},
		"no fault": {
			recorded(begins(0, "fault", "f"), stepDone(0, "f")),
			"no fault of this name was injected",
		},
		"healed": {
			recorded(of("f", timeline.FaultInjected{}), begins(0, "heal", "f"), of("f", timeline.FaultHealed{}),
				stepDone(0, "f")),
			"",
		},
		"not healed": {
			recorded(of("f", timeline.FaultInjected{}), begins(0, "heal", "f"), stepDone(0, "f")),
			"has not been healed",
		},
		"never begun": {
			recorded(of("f", timeline.FaultAwaited{}), begins(0, "heal", "f"), stepDone(0, "f")),
			"",
		},
		"moved":            {recorded(bound("a"), move, stepDone(0, "alpha"), bound("b")), ""},
		"moved in the end": {recorded(bound("b"), move, stepDone(0, "alpha")), ""},
		"not moved": {
			recorded(bound("a"), move, stepDone(0, "alpha"), seen(timeline.ShootSeen{SpecSeed: "a", Hibernated: true})),
			"nobody has seen in the garden",
		},
		"moved, nobody saw": {
			recorded(bound("a"), move, of("", timeline.Unseen{Probe: "state of alpha"}), stepDone(0, "alpha")),
			"",
		},
		"refused as it should": {
			recorded(bound("a"), of("alpha", timeline.StepStarted{Verb: "migrate", To: "b", Refused: true}),
				stepDone(0, "alpha")),
			"",
		},
		"met": {
			recorded(begins(0, "expect", ""), of("", timeline.ConditionMet{That: "x"}), stepDone(0, "")),
			"",
		},
		"met unseen": {
			recorded(begins(0, "expect", ""), stepDone(0, "")),
			"nobody has seen that its condition was true",
		},
		"met unread": {
			recorded(begins(0, "expect", ""), of("", timeline.ConditionMet{Unknown: "no answer"}), stepDone(0, "")),
			"it is unknown whether",
		},
		"waited": {
			recorded(of("", timeline.StepStarted{Verb: "wait", Lasts: timeline.Length(time.Second)}), stepDone(0, "")),
			"",
		},
		"waited too short": {
			recorded(of("", timeline.StepStarted{Verb: "wait", Lasts: timeline.Length(time.Minute)}), stepDone(0, "")),
			"it took 1s",
		},
		"an end without begin": {recorded(stepDone(4, "")), "step 5 has ended and not begun"},
		"over the link": {
			recorded(cost(0, 0), of("", timeline.Note{}), reaches(3, timeline.Acknowledged), cost(1, 0)),
			"",
		},
		"past the link": {
			recorded(cost(5, 0), of("", timeline.Note{}), reaches(3, timeline.Acknowledged), cost(5, 0)),
			"0 requests have crossed their link",
		},
		"harmed while it lasts": {recorded(cost(0, 1), cost(0, 0), of("", timeline.Settling{})), ""},
		"still harmed": {
			recorded(cost(0, 1), of("", timeline.Settling{})),
			"has 1 faults when all are healed",
		},
		"never healed": {
			recorded(of("f", timeline.FaultInjected{Fault: "cut"}), of("", timeline.Settling{})),
			"was never healed",
		},
		"called": {recorded(of("", timeline.CloudCalled{Made: seconds(1.9)})), ""},
		"a clock ahead": {
			recorded(of("", timeline.CloudCalled{Made: seconds(300)})),
			"the cloud's clock is ahead",
		},
		"counted": {recorded(data(holds("k", 1, 5)), of("alpha", timeline.DataCounted{Keys: 1})), ""},
		"fewer than there are": {
			recorded(data(holds("k", 1, 5)), of("alpha", timeline.DataCounted{Keys: 2})),
			"1 keys were read at the end, and a user counts 2",
		},
		"one may have come since": {
			recorded(wrote(func(w *timeline.Write) { w.Key, w.Outcome = "l", timeline.Unknown }),
				data(holds("k", 1, 5)), of("alpha", timeline.DataCounted{Keys: 2})),
			"",
		},
		"one was refused": {
			recorded(wrote(func(w *timeline.Write) { w.Key, w.Outcome = "l", timeline.Failed }),
				data(holds("k", 1, 5)), of("alpha", timeline.DataCounted{Keys: 2})),
			"a user counts 2",
		},
		"one was read already": {
			recorded(wrote(func(w *timeline.Write) { w.Outcome = timeline.Unknown }),
				data(holds("k", 1, 5)), of("alpha", timeline.DataCounted{Keys: 2})),
			"a user counts 2",
		},
		"counted before": {recorded(of("alpha", timeline.DataCounted{Keys: 2}), data(holds("k", 1, 5))), ""},
		"an entry twice": {recorded(entry(7), entry(7)),
			"event 3 is entry 7 of the cloud's ledger, which was read up to entry 7"},
		"an entry of before": {
			recorded(of("", timeline.LandscapeReady{LedgerAt: new(int64(7))}), entry(7)),
			"which was read up to entry 7 before",
		},
		"entries out of order": {recorded(entry(8), entry(7)), "event 3 is entry 7"},
		"entries":              {recorded(entry(7), entry(8)), ""},
		"more than there is":   {recorded(data(holds("k", 1, 5)), of("alpha", timeline.DataCounted{})), "a user counts 0"},
		"asked to start over": {
			recorded(versions("list", false, 5), of("alpha", timeline.VersionsSeen{Source: "list", Gone: true, Status: 410})),
			"",
		},
		"gone by itself": {
			recorded(versions("list", false, 5), of("alpha", timeline.VersionsSeen{Source: "list", Gone: true, Status: 500})),
			"no server has asked it to",
		},
		"no landscape": {recorded(of("", timeline.RunEnded{Error: "port 6443 is taken"})), ""},
		"a list by itself": {
			recorded(versions("list", false, 5), versions("list", false, 6)),
			"no server has asked it to",
		},
		"a new shoot's client": {
			recorded(versions("list", false, 5), seen(timeline.ShootSeen{Absent: true}), versions("list", false, 6)),
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := oracle.Unsound(c.events)
			if got := strings.Join(found, "; "); c.want == "" && got != "" || len(found) > 1+strings.Count(c.want, "; ") ||
				!strings.Contains(got, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

func TestUnsound_ReadsAndTriesThatContradict_AreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome timeline.Outcome // of one try in the middle
		reads   int
		want    bool
	}{
		"one tries in vain": {timeline.Failed, 6, false}, "none tries in vain": {timeline.Acknowledged, 6, true},
		"a short time": {timeline.Acknowledged, 3, false},
	} {
		events := []timeline.Event{started()}
		for i := range c.reads {
			at := float64(i) / 2
			outcome := timeline.Acknowledged
			if i == 1 {
				outcome = c.outcome
			}
			events = append(events, unanswered(0.01+at), reaches(0.02+at, outcome))
		}
		if found := oracle.Unsound(history(events...)); len(found) > 0 != c.want {
			t.Errorf("%s: found %q", name, found)
		}
	}
}

func TestUnsound_EventsThatAreGoneOrAtOnce_AreNamed(t *testing.T) {
	t.Parallel()
	whole := func() []timeline.Event {
		events := []timeline.Event{started()}
		for range 200 {
			events = append(events, of("", timeline.Note{}))
		}
		return history(events...)
	}
	if found := oracle.Unsound(whole()); len(found) > 0 {
		t.Errorf("the whole record: %q", found)
	}
	gap := slices.Delete(whole(), 50, 51)
	if found := oracle.Unsound(gap); len(found) != 1 || !strings.Contains(found[0],
		"event 51 of the record has number 52") {
		t.Errorf("an event is missing: %q", found)
	}
	back, stands := whole(), whole()
	back[50].At = time.Second
	if found := oracle.Unsound(back); len(found) != 1 || !strings.Contains(found[0], "before event 50") {
		t.Errorf("time goes back: %q", found)
	}
	for i := range stands[20:] {
		stands[20+i].At = stands[20].At
	}
	if found := oracle.Unsound(stands); len(found) != 1 || !strings.Contains(found[0], "the clock stood") {
		t.Errorf("time stands: %q", found)
	}
	stands[0].Payload = timeline.RunStarted{}
	if found := oracle.Unsound(stands); len(found) > 0 {
		t.Errorf("a record without heartbeats is taken as it is: %q", found)
	}
}
