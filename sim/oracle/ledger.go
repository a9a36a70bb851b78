package oracle

import (
	"fmt"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

const lastEntries = "the last entries of the cloud's ledger"

// ledgerLacks are entries of the cloud's ledger that are not in the record.
func ledgerLacks(events []timeline.Event) []string {
	lacks := ledgerGaps(events)
	if blindAtEnd(events, timeline.CloudLedger) {
		lacks = append(lacks, lastEntries)
	}
	return lacks
}

// ledgerGaps are entries that are missing before others that were recorded: entries are numbered without gaps, the
// first one follows the last one before the run, and what is deleted was made before. Where there is a gap, nothing
// may rest on it that a call was not made.
//
// Records of before LandscapeReady knew the last entry do not show whether the first ones are missing, unless what they
// made shows it.
func ledgerGaps(events []timeline.Event) (gaps []string) {
	_, ready, _ := timeline.First[timeline.LandscapeReady](events)
	last, known := int64(0), ready.LedgerAt != nil
	if known {
		last = *ready.LedgerAt
	}
	for _, call := range timeline.Of[timeline.CloudCalled](events) {
		if next := last + 1; known && call.Number > next {
			gaps = append(gaps, fmt.Sprintf("%d entries of the cloud's ledger from number %d on", call.Number-next, next))
		}
		last = max(last, call.Number)
		known = last != 0
	}
	if ready.Cloud {
		gaps = append(gaps, nodesUnmade(events)...)
	}
	return append(gaps, unmade(events)...)
}

// nodesUnmade are shoots with more nodes than machines were made for them by the record.
func nodesUnmade(events []timeline.Event) (gaps []string) {
	for e, steady := range timeline.Of[timeline.ShootReady](events) {
		made := 0
		for by, call := range timeline.Of[timeline.CloudCalled](events) {
			if by.Subject == steady.TechnicalID && call.Took && call.What == "machines" && call.Verb == "create" &&
				time.Duration(call.Made) <= e.At+clocksDiffer {
				made++
			}
		}
		if made < steady.Nodes {
			gaps = append(gaps, fmt.Sprintf("the entries of the cloud's ledger by which %d of the %d machines of %s were made",
				steady.Nodes-made, steady.Nodes, e.Subject))
		}
	}
	return gaps
}

// unmade are things of shoots of the run that were deleted, and that nobody has made by the record.
func unmade(events []timeline.Event) (gaps []string) {
	type thing struct{ shoot, what, id string }
	ids, made := technicalIDs(events), map[thing]bool{}
	for e, call := range timeline.Of[timeline.CloudCalled](events) {
		if ids[e.Subject] == "" || !call.Took || !slices.Contains(ofShoots, call.What) {
			continue
		}
		one := thing{e.Subject, call.What, call.ID}
		if call.Verb == "delete" && !made[one] {
			gaps = append(gaps, fmt.Sprintf("the entry of the cloud's ledger by which %s %s was made, which entry %d deletes",
				call.What, nameOf(call), call.Number))
		}
		made[one] = true
	}
	return gaps
}

// misnumbered: the ledger is read in its order, each entry once, from the first one of the run on.
func misnumbered(events []timeline.Event) []string {
	_, ready, _ := timeline.First[timeline.LandscapeReady](events)
	last := int64(0)
	if ready.LedgerAt != nil {
		last = *ready.LedgerAt
	}
	for e, call := range timeline.Of[timeline.CloudCalled](events) {
		if call.Number != 0 && call.Number <= last {
			return []string{fmt.Sprintf("event %d is entry %d of the cloud's ledger, which was read up to entry %d before",
				e.Seq, call.Number, last)}
		}
		last = max(last, call.Number)
	}
	return nil
}
