package oracle

import (
	"maps"
	"slices"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// surge is how many machines more than wanted a shoot may have while its nodes are replaced: pools are made
// with the default, one machine more and none less (docs/specification/versions.md#spec-4-8).
const surge = 1

// NoLostMachine promises that nodes are replaced one for one, whoever does it and however often he changes: a shoot has
// never fewer machines than it shall have, at most one in exchange more, none twice, exactly its number in the end; and
// no actor that no longer owns it calls the cloud. It is CloudUntouched for scenarios in which nodes roll.
type NoLostMachine struct{}

var _ Oracle = NoLostMachine{}

// Name of the promise.
func (NoLostMachine) Name() string { return "NoLostMachine" }

// Lacks the ledger, when there are nodes and so there must be entries.
func (NoLostMachine) Lacks(events []timeline.Event) []string { return CloudUntouched{}.Lacks(events) }

// Judge the ledger.
func (o NoLostMachine) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	ids, gaps := technicalIDs(events), len(ledgerGaps(events)) > 0
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		judgeEpochs(&f, events, id, ids[id])
		m := machines{f: &f, shoot: ids[id], wanted: steadyNodes(events, ids[id]), upset: disturbancesOf(events, ids[id]),
			gaps: gaps}
		m.judge(events, id)
	}
	return f.sorted()
}

// machines of one shoot, as its part of the ledger goes on.
type machines struct {
	f      *findings
	shoot  string
	wanted int
	upset  disturbed
	gaps   bool           // entries are missing: nobody knows how many machines there are
	alive  map[string]int // the event that made it, by its id in the cloud
	made   map[string]int // the same by its name, also of those that are gone
}

func (m *machines) judge(events []timeline.Event, id string) {
	m.alive, m.made = map[string]int{}, map[string]int{}
	var last timeline.Event
	for e, call := range timeline.About[timeline.CloudCalled](events, id) {
		if call.What != "machines" || !call.Took {
			continue
		}
		last = e
		switch call.Verb {
		case "create":
			m.create(e, call)
		case "delete":
			m.delete(e, call)
		}
	}
	_, _, settled := timeline.First[timeline.Settling](events)
	settled = settled && !m.gaps && !blindAtEnd(events, timeline.CloudLedger)
	if left := len(m.alive); settled && last.Seq != 0 && left != m.wanted &&
		!m.upset.at(timeline.Moment(events[len(events)-1].At)) {
		m.f.add(events[len(events)-1].At, proof(last.Seq), "%s: in the end there are %d machines, %d are wanted", m.shoot,
			left, m.wanted)
	}
}

func (m *machines) create(e timeline.Event, call timeline.CloudCalled) {
	if before, twice := m.made[call.Name]; twice && call.Name != "" {
		m.f.add(e.At, proof(before, e.Seq), "%s: %s has made machine %s a second time, as %s", m.shoot, e.Actor, call.Name,
			call.ID)
	}
	m.alive[call.ID], m.made[call.Name] = e.Seq, e.Seq
	if n := len(m.alive); n > m.wanted+surge && !m.gaps && !m.upset.at(call.Made) {
		m.f.add(e.At, proof(append(slices.Collect(maps.Values(m.alive)), e.Seq)...),
			"%s: machine %s makes %d, where %d and one in exchange are wanted", m.shoot, nameOf(call), n, m.wanted)
	}
}

func (m *machines) delete(e timeline.Event, call timeline.CloudCalled) {
	if m.alive[call.ID] == 0 {
		return // deleted before
	}
	delete(m.alive, call.ID)
	if n := len(m.alive); n < m.wanted && !m.gaps && !m.upset.at(call.Made) {
		m.f.add(e.At, proof(e.Seq), "%s: %s has ended machine %s, which leaves %d of %d", m.shoot, e.Actor, nameOf(call), n,
			m.wanted)
	}
}
