package oracle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// isIn says whether one of some violations shows what this one does, perhaps with more proof.
func isIn(v oracle.Violation, all []oracle.Violation) bool {
	return slices.ContainsFunc(all, func(other oracle.Violation) bool {
		return v.Oracle == other.Oracle && !slices.ContainsFunc(v.Events, func(seq int) bool {
			return !slices.Contains(other.Events, seq)
		})
	})
}

// checkParts wants an oracle to accuse by no part of a history from its beginning whom the whole history clears.
func checkParts(t *testing.T, o oracle.Oracle, events []timeline.Event) {
	t.Helper()
	whole := o.Judge(events)
	for end := range events {
		for _, v := range o.Judge(events[:end]) {
			if !isIn(v, whole) {
				t.Errorf("up to event %d of %d it is accused of what the whole does not show: %s", end, len(events), v.Message)
			}
		}
	}
}

// judgedLater are the violations, by oracle and by a part of the message, that are not shown yet by the last event that
// proves them: by what there is in the end, or has not come by then, or with what follows. A gap in what was seen may
// take these back though it came after their proof. All others stand by their proof.
var judgedLater = map[string][]string{
	"CloudEmptied":   {"is gone, and has left", "goes only after"}, // once the shoot is seen to be gone
	"CloudUntouched": {"rests on seed"},                            // where the names lead in the end
	"MigrationEnds":  {"has not ended", "another status.state"},    // the state counts when the shoot is seen there
	"NoLostMachine":  {"in the end there are"},
	"Revisions":      {"though a client had seen"}, // once the store of what was seen is known to go on
}

// checkCertain wants a violation to stand if somebody stops looking after it was shown, and not if before.
func checkCertain(t *testing.T, o oracle.Oracle, events []timeline.Event, v oracle.Violation) {
	t.Helper()
	stands := func(since time.Duration) bool {
		return slices.ContainsFunc(oracle.Certain(o, events, []oracle.Gap{{Since: since}}),
			func(left oracle.Violation) bool { return left.Message == v.Message })
	}
	shown := v.Events[len(v.Events)-1]
	if stands(events[shown-1].At - 1) {
		t.Errorf("it stands though nobody saw event %d, which shows it: %s", shown, v.Message)
	}
	for shown < len(events) && !slices.ContainsFunc(o.Judge(events[:shown]), func(found oracle.Violation) bool {
		return found.Message == v.Message
	}) {
		shown++
	}
	if !stands(events[shown-1].At) {
		t.Errorf("it does not stand though everybody saw event %d, which shows it: %s", shown, v.Message)
	}
	later := slices.ContainsFunc(judgedLater[o.Name()], func(part string) bool {
		return strings.Contains(v.Message, part)
	})
	if shown != v.Events[len(v.Events)-1] && !later {
		t.Errorf("it is proved by event %d, and shown by event %d only: %s", v.Events[len(v.Events)-1], shown, v.Message)
	}
}

// Some evidence is recorded late. So everybody must have looked for one heartbeat after what shows a violation.
func TestCertain_LastHeartbeatBeforeAGap_IsInDoubt(t *testing.T) {
	t.Parallel()
	events := history(of("", timeline.RunStarted{Heartbeat: timeline.Length(2 * time.Second)}), steady(0),
		epoch("a", 2, 5, 3, 100), epoch("b", 2, 5, 4, 100), steady(0), steady(0), steady(0), steady(0))
	const shown = 4 * time.Second
	for since, want := range map[time.Duration]int{shown: 0, shown + time.Second: 0, shown + 2*time.Second: 1} {
		gaps := []oracle.Gap{{Since: time.Minute}, {Since: since}, {Since: time.Hour}}
		if got := oracle.Certain(oracle.SingleWriter{}, events, gaps); len(got) != want {
			t.Errorf("with nobody looking from %s on: %v", since, got)
		}
	}
}

// What is on the record only after the gap has begun, and clears somebody, clears them all the same.
func TestCertain_ClearedLater_DoesNotStand(t *testing.T) {
	t.Parallel()
	// The read is answered before the write whose number it has seen.
	events := history(steady(0), ack(1, "r-0", 1, 2, 9), read("r-0", 2, 3, 4, 12), steady(0),
		patched(2, "r-0", timeline.Acknowledged, 2.5, 5, 12))
	cut := events[:4]
	if found := (oracle.Linearizable{}).Judge(cut); len(found) == 0 {
		t.Fatal("without the write the read is explained")
	}
	if found := oracle.Certain(oracle.Linearizable{}, events, []oracle.Gap{{Since: cut[3].At}}); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// A gap begins where all that was to be seen had been seen, and no later.
func TestUnwatched_Gap_SaysSinceWhen(t *testing.T) {
	t.Parallel()
	since := func(events []timeline.Event) map[string]time.Duration {
		all := map[string]time.Duration{}
		for _, gap := range oracle.Unwatched(events) {
			all[gap.What] = gap.Since
		}
		return all
	}
	final := func(looked timeline.Looked) bool { return looked.Final }
	late := func(looked timeline.Looked) bool { return looked.Final || looked.Ended }
	blind := watched(func(e timeline.Event) []timeline.Event {
		if looked, is := e.Payload.(timeline.Looked); is && e.Subject == "nodes of alpha" && looked.Final {
			e.Payload = timeline.Looked{Looks: 3, Failed: 3, Final: true}
		}
		return []timeline.Event{e}
	})
	n := 0
	stops := watched(func(e timeline.Event) []timeline.Event {
		if looked, is := e.Payload.(timeline.Looked); is && e.Subject == "epochs of alpha" && !late(looked) {
			if n++; n > 3 {
				return nil
			}
		}
		return []timeline.Event{e}
	})
	pods := "workload of alpha"
	for name, c := range map[string]struct {
		events []timeline.Event
		what   string
		want   time.Duration
	}{
		"it never looked": {watched(without("cloud ledger", always)),
			`what "cloud ledger" would have seen from 0s to 1m0s: it did not look, or saw nothing`, 0},
		"it stopped": {stops, `what "epochs of alpha" would have seen from 15s to 1m0s: it did not look`, 15 * time.Second},
		"it did not look once more": {watched(without("nodes of alpha", final)), `the last look of "nodes of alpha"`,
			time.Minute},
		"it could not see, and does not say why": {blind, `why "nodes of alpha" could not see: it has not said so`,
			time.Minute},
		"nobody counted": {history(started(), steady(0), data(holds("k", 1, 5))),
			"how many keys a user counts in alpha at the end", 3*time.Second - 1},
		"it missed what it followed": {history(started(), of("alpha", timeline.PodSeen{Name: "p"}),
			of("alpha", timeline.PodSeen{Name: "q"}), of(pods, timeline.Looked{Ended: true}),
			of("alpha", timeline.PodSeen{Name: "q", Gone: true}), of("alpha", timeline.PodSeen{Name: "p", Gone: true}),
			of(pods, timeline.Looked{Looks: 1, Final: true})),
			`all that "workload of alpha" was to follow: only its last look found pod p as it is`, 2 * time.Second},
	} {
		if got, named := since(c.events)[c.what]; !named || got != c.want {
			t.Errorf("%s: since %s, want %s; all: %v", name, got, c.want, since(c.events))
		}
	}
}
