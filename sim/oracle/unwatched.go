package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// heartbeats is how many heartbeats a probe may miss: a busy machine may be late with one. Where it is late with more,
// the probes were, too.
const heartbeats = 3

// Gap is what somebody was to see, and has not.
type Gap struct {
	What string
	// Since is from when on: until then all of it was seen.
	Since time.Duration
}

// Unwatched says which probes did not look although they should have, and when. It takes a record that says of every
// probe that it has looked; of any other record nothing is known, and nothing is said.
//
// What a probe of a shoot looked at and could not see is another matter: its absence is what is measured, the probe has
// said so, and each oracle knows whether it needs it. Garden and cloud answer all the time, unless a fault has them
// away: a probe of theirs that cannot see is as one that does not look.
func Unwatched(events []timeline.Event) []Gap {
	_, run, _ := timeline.First[timeline.RunStarted](events)
	if run.Heartbeat == 0 || run.Unwatched {
		return nil
	}
	most := heartbeats * time.Duration(run.Heartbeat)
	var all []Gap
	for _, d := range dutiesOf(events) {
		all = append(all, d.gaps(events, most)...)
	}
	return slices.Concat(all, uncounted(events), silent(events), foundLate(events))
}

// duty of a probe: to look all the time from one moment to another.
type duty struct {
	probe    string
	from, to time.Duration
	last     bool   // it is to look once more when the scenario is over
	at       string // what it is to see as well, by its name; empty for a shoot, which may be away
}

// garden is the name of the cluster that a landscape is managed from.
const garden = "garden"

// dutiesOf are the duties of all probes that a run must have had. Without a Settled event it was cut short, and says
// so.
func dutiesOf(events []timeline.Event) []duty {
	settled, _, ended := timeline.First[timeline.Settled](events)
	if !ended {
		return nil
	}
	var all []duty
	loads := map[int]timeline.StepStarted{}
	for i, e := range events {
		switch p := e.Payload.(type) {
		case timeline.LandscapeReady:
			all = append(all, duty{timeline.StateOfSeeds, e.At, settled.At, true, garden})
			if p.Cloud {
				all = append(all, duty{timeline.CloudLedger, e.At, settled.At, true, cloudPlace})
			}
		case timeline.ShootReady:
			all = append(all, ofShoot(events, i, p, settled.At)...)
		case timeline.StepStarted:
			if p.WritesPerSecond > 0 {
				loads[p.Index] = p
			}
		case timeline.StepEnded:
			if load, is := loads[p.Index]; is && p.Outcome == timeline.StepDone {
				all = append(all, ofLoad(events, i, load, settled.At)...)
			}
		}
	}
	return all
}

// ofShoot are the duties from the moment when a shoot is ready until it is deleted, or the scenario is over.
func ofShoot(events []timeline.Event, at int, steady timeline.ShootReady, settled time.Duration) []duty {
	shoot, from := events[at].Subject, events[at].At
	to, dismissed := endOfLoad(events[at:], shoot)
	watched := []string{}
	if steady.Nodes > 0 {
		watched = append(watched, timeline.NodesOf(shoot), timeline.WorkloadOf(shoot))
	}
	all := []duty{{timeline.StateOf(shoot), from, settled, true, garden}} // which is followed on when the shoot is deleted
	for _, probe := range append(watched, timeline.EpochsOf(shoot), timeline.ReachabilityOf(shoot)) {
		all = append(all, duty{probe, from, to, !dismissed, ""})
	}
	return append(all, duty{timeline.RevisionsOf(shoot), from, to, false, ""})
}

func ofLoad(events []timeline.Event, at int, load timeline.StepStarted, settled time.Duration) []duty {
	shoot, from := events[at].Subject, events[at].At
	to, _ := endOfLoad(events[at:], shoot)
	to = min(to, settled)
	all := []duty{{timeline.WriterTo(shoot), from, to, false, ""}, {timeline.ReaderOf(shoot), from, to, false, ""}}
	if load.KeepAddress {
		all = append(all, duty{timeline.CachedReaderOf(shoot), from, to, false, ""})
	}
	return all
}

// gaps are the stretches of time in which nobody looked.
func (d duty) gaps(events []timeline.Event, most time.Duration) (all []Gap) {
	since, final, away := d.from, false, absence{}
	if d.at != "" {
		away = absenceOf(events, d.at)
	}
	look := func(until time.Duration) {
		if until-since-away.within(since, until) > most {
			all = append(all, Gap{fmt.Sprintf("what %q would have seen from %s to %s: %s", d.probe,
				since.Round(time.Millisecond), until.Round(time.Millisecond), d.failure()), since})
		}
		since = until
	}
	for e, p := range timeline.About[timeline.Looked](events, d.probe) {
		looked := p.Looks > 0
		if d.at != "" {
			looked = p.Looks > p.Failed
		}
		final = final || p.Final && (looked || d.at == "")
		if (looked || p.Follows) && e.At > since && e.At <= d.to {
			look(e.At)
		}
	}
	look(d.to)
	if d.last && !final {
		all = append(all, Gap{fmt.Sprintf("the last look of %q", d.probe), d.to})
	}
	return all
}

func (d duty) failure() string {
	if d.at == "" {
		return "it did not look"
	}
	return "it did not look, or saw nothing"
}

// uncounted is data that was read at the end and has no second witness.
func uncounted(events []timeline.Event) (all []Gap) {
	counted := timeline.Subjects[timeline.DataCounted](events)
	for e := range timeline.Of[timeline.DataSeen](events) {
		if !slices.Contains(counted, e.Subject) {
			all = append(all, Gap{"how many keys a user counts in " + e.Subject + " at the end", justBefore(e)})
		}
	}
	return all
}

// justBefore an event: what it says itself is in doubt.
func justBefore(e timeline.Event) time.Duration { return e.At - 1 }

// silent are the probes that could not see and have not said why.
func silent(events []timeline.Event) (all []Gap) {
	type complaint struct {
		probe string
		final bool
	}
	said, blind := map[complaint]bool{}, map[complaint]time.Duration{}
	looked := map[string]time.Duration{} // when the engine last said so of each probe
	for e := range slices.Values(events) {
		switch p := e.Payload.(type) {
		case timeline.Unseen:
			said[complaint{p.Probe, p.Final}] = true
		case timeline.Looked:
			one := complaint{e.Subject, p.Final}
			if _, known := blind[one]; !known && p.Looks > 0 && p.Failed == p.Looks {
				blind[one] = looked[e.Subject]
			}
			looked[e.Subject] = e.At
		}
	}
	for one, since := range blind {
		if !said[one] {
			all = append(all, Gap{fmt.Sprintf("why %q could not see: it has not said so", one.probe), since})
		}
	}
	slices.SortFunc(all, func(a, b Gap) int { return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Since, b.Since)) })
	return slices.CompactFunc(all, func(a, b Gap) bool { return a.What == b.What })
}

// leasePause is longer than nodes take between two renewals of their leases, and than a shoot that is settled takes to
// answer.
const leasePause = 30 * time.Second

// foundLate are the probes that follow something and have missed what their last look then found. A landscape that is
// settled does not change between the end of a probe and its last look: what was missed came after the last that the
// probe had seen of the same thing.
func foundLate(events []timeline.Event) (all []Gap) {
	type thing struct{ probe, what string }
	ended, found, missed := map[string]bool{}, map[string]Gap{}, map[string]Gap{}
	followed := map[thing]time.Duration{}
	nodes := map[string]timeline.NodeSeen{}
	see := func(e timeline.Event, probe, what string, other bool) {
		switch before, known := found[probe]; {
		case !ended[probe]:
			followed[thing{probe, what}] = e.At
		case other:
			since := followed[thing{probe, what}]
			if known {
				since = min(since, before.Since)
			}
			found[probe] = Gap{what, since}
		}
	}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.Looked:
			if late, is := found[e.Subject]; p.Final && is {
				missed[e.Subject] = late
			}
			ended[e.Subject] = p.Ended
			delete(found, e.Subject) // a shoot that is created anew has new probes
		case timeline.ShootSeen:
			see(e, timeline.StateOf(e.Subject), "the Shoot", true)
		case timeline.SeedSeen:
			see(e, timeline.StateOfSeeds, "Seed "+e.Subject, true)
		case timeline.PodSeen:
			see(e, timeline.WorkloadOf(e.Subject), "pod "+p.Name, true)
		case timeline.NodeSeen:
			see(e, timeline.NodesOf(e.Subject), "node "+p.Name, !renewed(nodes[e.Subject+"/"+p.Name], p))
			nodes[e.Subject+"/"+p.Name] = p
		}
	}
	for _, probe := range slices.Sorted(maps.Keys(missed)) {
		all = append(all, Gap{fmt.Sprintf("all that %q was to follow: only its last look found %s as it is", probe,
			missed[probe].What), missed[probe].Since})
	}
	return all
}

// renewed says whether nothing has happened to a node but that it has renewed its lease, and not so long after the time
// before that others in between must have been missed.
func renewed(was, is timeline.NodeSeen) bool {
	before, err := time.Parse(time.RFC3339Nano, was.Renewed)
	now, other := time.Parse(time.RFC3339Nano, is.Renewed)
	is.Renewed = was.Renewed
	return was == is && (err != nil || other != nil || now.Sub(before) < leasePause)
}
