package oracle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Unsound says where a record contradicts itself. Then the harness is at fault, and nothing that the record says of
// the product counts, neither for it nor against it. Records of before there were heartbeats do not hold what it takes,
// nor do those of runs that nobody watched: they are taken as they are.
func Unsound(events []timeline.Event) []string {
	_, run, _ := timeline.First[timeline.RunStarted](events)
	if run.Heartbeat == 0 || run.Unwatched {
		return nil
	}
	var found []string
	for _, check := range []func([]timeline.Event) []string{
		outOfOrder, timeStands, lostEvents, impossibleCourse, impossibleTraffic, unquietRest, tracelessSteps,
		pastTheLinks, impossibleFaults, stillHarmed, goneUnsaid, twoTruths, unequalCounts, misnumbered,
	} {
		found = append(found, check(events)...)
	}
	return found
}

// outOfOrder: events are numbered from 1 without gaps, and time does not go back.
func outOfOrder(events []timeline.Event) []string {
	for i, e := range events {
		if e.Seq != i+1 {
			return []string{fmt.Sprintf("event %d of the record has number %d: some are missing", i+1, e.Seq)}
		}
		if i > 0 && e.At < events[i-1].At {
			return []string{fmt.Sprintf("event %d was recorded at %s, before event %d", e.Seq, e.At, events[i-1].Seq)}
		}
	}
	return nil
}

// mostAtOnce is how many events may be recorded at one instant, even by a coarse clock.
const mostAtOnce = 100

// timeStands: no clock shows the same for long.
func timeStands(events []timeline.Event) []string {
	for i := mostAtOnce; i < len(events); i++ {
		if events[i].At == events[i-mostAtOnce].At {
			return []string{fmt.Sprintf("the clock stood: more than %d events were recorded at %s", mostAtOnce, events[i].At)}
		}
	}
	return nil
}

// lostEvents: the journal holds what was recorded.
func lostEvents(events []timeline.Event) (found []string) {
	_, ended, is := timeline.First[timeline.RunEnded](events)
	if !is {
		return nil // it says so itself
	}
	if len(ended.Recorded) == 0 && ended.Error != "" {
		return nil // it could not even begin
	}
	if len(ended.Recorded) == 0 {
		return []string{"the engine has not counted what it recorded"}
	}
	there := map[timeline.Kind]int{}
	for _, e := range events {
		there[e.Payload.Kind()]++
	}
	for _, kind := range slices.Sorted(maps.Keys(ended.Recorded)) {
		if want := ended.Recorded[kind]; there[kind] < want {
			found = append(found, fmt.Sprintf("%d of %d events %s are missing", want-there[kind], want, kind))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(there)) {
		if want := ended.Recorded[kind]; there[kind] > want && !slices.Contains(uncountedKinds(), kind) {
			found = append(found, fmt.Sprintf("%d events %s, and %d were recorded", there[kind], kind, want))
		}
	}
	return found
}

// uncountedKinds are those that others than the engine record as well.
func uncountedKinds() []timeline.Kind {
	return []timeline.Kind{
		timeline.RunStarted{}.Kind(), timeline.LandscapeReady{}.Kind(), timeline.Note{}.Kind(), timeline.RunEnded{}.Kind(),
	}
}

// unquietRest: a landscape is settled when it was looked at for as long as nothing may move.
func unquietRest(events []timeline.Event) []string {
	_, settling, _ := timeline.First[timeline.Settling](events)
	for e, p := range timeline.Of[timeline.Settled](events) {
		if !p.Converged {
			continue
		}
		if quiet := e.At - time.Duration(p.Since); quiet < time.Duration(settling.Quiet) || settling.Quiet == 0 {
			return []string{fmt.Sprintf("the landscape is called settled after a look of %s; it takes %s",
				quiet, time.Duration(settling.Quiet))}
		}
		if p.Objects == 0 {
			return []string{"the landscape is called settled, and not one object was looked at"}
		}
	}
	return nil
}

// stillHarmed: when every fault is healed no link has any.
func stillHarmed(events []timeline.Event) (found []string) {
	settling, _, over := timeline.First[timeline.Settling](events)
	if !over {
		return nil
	}
	var last timeline.CostSeen
	for e, p := range timeline.Of[timeline.CostSeen](events) {
		if e.Seq < settling.Seq {
			last = p
		}
	}
	for _, l := range last.Links {
		if l.Faults > 0 {
			found = append(found, fmt.Sprintf("the link of %s to %s has %d faults when all are healed",
				l.From, l.To, l.Faults))
		}
	}
	return found
}
