package verdict_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// TestEvidence_SeenBeforeAProbeDied_StaysBroken has a second seed say that it owns the epoch of a shoot, in recorded
// runs, and then one probe after the other die, or nobody count the data in the end: what was seen while all looked
// stays a violation. If the probe had died before, it is unknown: what it would have seen may explain it.
func TestEvidence_SeenBeforeAProbeDied_StaysBroken(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, file := range recordedRuns(t) {
		whole := readRecord(t, file)
		_, run, _ := timeline.First[timeline.RunStarted](whole)
		if run.Heartbeat == 0 {
			continue
		}
		whole = withEverything(t, whole, 1.5, 0.5)
		for name, lessened := range deaths(whole) {
			checked++
			t.Run(nameOfRun(file)+"/"+name, func(t *testing.T) {
				t.Parallel()
				died := lastLookOf(lessened.events, strings.TrimSuffix(name, " dies"))
				checkSeen(t, lessened.events, false, died)
				checkSeen(t, lessened.events, true, died)
			})
		}
		t.Run(nameOfRun(file)+"/nobody counts", func(t *testing.T) {
			t.Parallel()
			checkSeen(t, keep(whole, func(e timeline.Event) bool { return e.Kind != timeline.DataCounted{}.Kind() }), false,
				whole[len(whole)-1].At)
		})
	}
	if checked == 0 {
		t.Error("no record has heartbeats")
	}
}

// lastLookOf a probe that was recorded.
func lastLookOf(events []timeline.Event, probe string) (at time.Duration) {
	for e := range timeline.About[timeline.Looked](events, probe) {
		at = e.At
	}
	return at
}

// checkSeen wants a second owner that is seen first, or last, to be a violation where that is before a probe died, and
// to be unknown where it is after that.
func checkSeen(t *testing.T, events []timeline.Event, last bool, died time.Duration) {
	t.Helper()
	doubled, at := doubledOwner(events, last)
	if doubled == nil {
		t.Fatal("no epoch was seen")
	}
	r, err := verdict.Judge(recounted(doubled))
	if err != nil {
		t.Fatal(err)
	}
	broken := slices.ContainsFunc(r.Violations, func(v verdict.Violation) bool { return v.Oracle == "SingleWriter" })
	_, run, _ := timeline.First[timeline.RunStarted](events)
	switch beat := time.Duration(run.Heartbeat); {
	case at+beat <= died && !broken:
		t.Errorf("it was seen at %s, before the probe died at %s, and the verdict is %s for %q", at, died, r.Verdict,
			r.Reasons)
	case at > died && broken:
		t.Errorf("it was seen at %s, after the probe died at %s, and the verdict is %s: %v", at, died, r.Verdict,
			r.Violations)
	case !last && at+beat > died:
		t.Errorf("the first valid epoch was seen at %s, not before the probe died at %s", at, died)
	}
}

// doubledOwner adds to the first, or the last, look at a valid epoch one at another seed that has it too.
func doubledOwner(events []timeline.Event, last bool) (doubled []timeline.Event, seenAt time.Duration) {
	at := -1
	for i, e := range events {
		seen, is := e.Payload.(timeline.EpochSeen)
		if is && seen.Remaining > 0 && seen.Epoch > 0 && (at < 0 || last) {
			at = i
		}
	}
	if at < 0 {
		return nil, 0
	}
	e := events[at]
	seen := e.Payload.(timeline.EpochSeen)
	seen.Seed = "elsewhere"
	e.Payload = seen
	return slices.Insert(slices.Clone(events), at+1, e), e.At
}
