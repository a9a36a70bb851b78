package oracle

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// CloudUntouched promises that a change of seed leaves the cloud as it is: nothing deleted, created again or leaked,
// and no call by an actor that no longer owns (docs/specification/migration.md#cpm-3, docs/ownership.md#o8). All of its
// names follow it to its seed, and nothing else changes (docs/specification/nodes-and-seeds.md#spec-7-4).
type CloudUntouched struct{}

var _ Oracle = CloudUntouched{}

// Name of the promise.
func (CloudUntouched) Name() string { return "CloudUntouched" }

// fluid are kinds that come and go by themselves: backups are written, ownership is fenced.
var fluid = map[string]bool{"objects": true, "fences": true, "faults": true}

// ofShoots are kinds of which each is a shoot's.
var ofShoots = []string{"networks", "subnets", "routers", "security-groups", "key-pairs", "machines", "volumes",
	"load-balancers", "records"}

// Lacks the ledger, when there are nodes and so there must be entries, or its end, or whose things a third-party
// extension makes.
func (CloudUntouched) Lacks(events []timeline.Event) []string {
	called := timeline.Subjects[timeline.CloudCalled](events)
	var lacks []string
	for id, shoot := range technicalIDs(events) {
		if steadyNodes(events, shoot) > 0 && !slices.Contains(called, id) {
			lacks = append(lacks, "the cloud's ledger for "+shoot)
		}
	}
	lacks = append(lacks, ledgerLacks(events)...)
	_, run, _ := timeline.First[timeline.RunStarted](events)
	for e, call := range timeline.Of[timeline.CloudCalled](events) {
		byOwn := func(own string) bool { return strings.HasPrefix(e.Actor, own+"-") }
		if e.Subject == "" && call.Took && slices.Contains(ofShoots, call.What) && slices.ContainsFunc(run.Extensions,
			byOwn) {
			return append(lacks,
				fmt.Sprintf("for which shoot %s has made the cloud %s %s: its calls say so with the scope of package api/cloud",
					e.Actor, call.Verb, call.What))
		}
	}
	return lacks
}

// Judge the ledger.
func (o CloudUntouched) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	for id, shoot := range technicalIDs(events) {
		o.judgeShoot(&f, events, id, shoot)
	}
	return f.sorted()
}

func (CloudUntouched) judgeShoot(f *findings, events []timeline.Event, id, shoot string) {
	judgeEpochs(f, events, id, shoot)
	judgeNames(f, events, id, shoot)
	// By the cloud's own time: the ledger is read after the fact.
	upset := disturbancesOf(events, shoot)
	guests := guestsOf(events, id, shoot)
	for e, call := range timeline.About[timeline.CloudCalled](events, id) {
		if !upset.at(call.Made) && call.Took && !fluid[call.What] && !guests.excuse(call) &&
			(call.Verb == "delete" || call.Verb == "create" || call.Verb == "reboot") {
			f.add(e.At, proof(e.Seq), "%s: %s has made the cloud %s %s %s (ledger entry %d)", shoot, e.Actor, call.Verb,
				call.What, nameOf(call), call.Number)
		}
	}
}

// guests are the control planes on a seed that is a shoot, which have claimed volumes of it.
type guests struct {
	events []timeline.Event
	seed   string
	of     map[string]string // the shoots, by the ids of their volumes
}

func guestsOf(events []timeline.Event, id, seed string) guests {
	g := guests{events, seed, map[string]string{}}
	if !describedIn(events).isHosted(seed) {
		return g
	}
	ids := seenIDs(events)
	for _, call := range timeline.About[timeline.CloudCalled](events, id) {
		if call.What == "volumes" && len(call.Values) > 0 {
			_, claim, _ := strings.Cut(call.Values[0], " ") // the kind is before it
			namespace, _, _ := strings.Cut(claim, "/")
			g.of[call.ID] = ids[namespace]
		}
	}
	return g
}

// excuse a call about a volume of a shoot that did not rest on the seed then: it came, or went.
func (g guests) excuse(call timeline.CloudCalled) bool {
	shoot := g.of[call.ID]
	if shoot == "" || call.What != "volumes" {
		return false
	}
	var then timeline.ShootSeen
	for e, seen := range timeline.About[timeline.ShootSeen](g.events, shoot) {
		if e.At <= time.Duration(call.Made) {
			then = seen
		}
	}
	return !rests(then) || then.StatusSeed != g.seed
}

// judgeEpochs finds calls by actors that no longer own the shoot.
func judgeEpochs(f *findings, events []timeline.Event, id, shoot string) {
	var owner int64
	var began int // the event that showed the owner
	for _, e := range events {
		if seen, is := e.Payload.(timeline.ShootSeen); is && e.Subject == shoot && seen.Absent {
			owner, began = 0, 0 // who is created again under the name is another shoot
		}
		call, is := e.Payload.(timeline.CloudCalled)
		if !is || e.Subject != id {
			continue
		}
		if call.Epoch != 0 && call.Epoch < owner {
			f.add(e.At, proof(began, e.Seq),
				"%s: %s calls the cloud (%s %s %s) as owner of epoch %d, though epoch %d has begun; the answer was %s",
				shoot, e.Actor, call.Verb, call.What, call.ID, call.Epoch, owner, call.Outcome)
		}
		if call.Took && call.Epoch > owner {
			owner, began = call.Epoch, e.Seq
		}
	}
}

// ledgerReadUntil is up to when the cloud's ledger is known: what does not stand in it until then has not happened.
// Entries are read some time after they were made, so that a record that is cut off may lack the last ones.
func ledgerReadUntil(events []timeline.Event) (until timeline.Moment) {
	if _, _, ended := timeline.First[timeline.RunEnded](events); ended && !blindAtEnd(events, timeline.CloudLedger) {
		return math.MaxInt64
	}
	for _, call := range timeline.Of[timeline.CloudCalled](events) {
		until = max(until, call.Made)
	}
	return until
}

func nameOf(call timeline.CloudCalled) string {
	if call.Name == "" || call.Name == call.ID {
		return call.ID
	}
	return call.ID + " (" + call.Name + ")"
}
