package oracle

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// shootsOf are the shoots that were steady at some time, by name.
func shootsOf(events []timeline.Event) []string {
	return timeline.Subjects[timeline.ShootReady](events)
}

// ordinaryShoots are those that are no seeds.
func ordinaryShoots(events []timeline.Event) []string {
	_, landscape, _ := timeline.First[timeline.LandscapeReady](events)
	return slices.DeleteFunc(shootsOf(events), func(shoot string) bool { return slices.Contains(landscape.Seeds, shoot) })
}

// upsetting are the verbs of steps that ask for nodes and cloud resources of a shoot to come and go.
var upsetting = []string{"create", "delete", "hibernate", "wake"}

// calm says at which events nothing may happen to the nodes and cloud resources of a shoot: from the moment it is
// steady, except from a step that upsets it until it has done what that step asks for.
type calm struct {
	shoot  string
	steady bool
	asked  string // the verb of the step that is not done yet
}

// take goes on by one event and says whether the shoot was calm when it happened.
func (c *calm) take(e timeline.Event) bool {
	if e.Subject != c.shoot {
		return c.steady && c.asked == ""
	}
	switch p := e.Payload.(type) {
	case timeline.ShootReady:
		c.steady, c.asked = true, ""
	case timeline.StepStarted:
		if slices.Contains(upsetting, p.Verb) && !p.Refused {
			c.asked = p.Verb
		}
	case timeline.ShootSeen:
		if c.done(p) {
			c.asked = ""
		}
	}
	return c.steady && c.asked == ""
}

// done says whether the shoot is as it was asked to be. One that was seen between the step's start and the request, or
// in the success of an older operation, is not; and one that is to come or go is upset until it is steady (again).
func (c *calm) done(seen timeline.ShootSeen) bool {
	if seen.Absent || seen.Deleting || seen.Operation.State != "Succeeded" || seen.WantsToSleep != seen.Hibernated {
		return false
	}
	switch c.asked {
	case "hibernate":
		return seen.Hibernated
	case "wake":
		return !seen.Hibernated
	}
	return false
}

// disturbed are the stretches of time in which the shoot was not calm.
type disturbed []struct{ from, to time.Duration }

func disturbancesOf(events []timeline.Event, shoot string) disturbed {
	peace := calm{shoot: shoot}
	all := disturbed{{to: math.MaxInt64}}
	quiet := false
	for _, e := range events {
		was := quiet
		quiet = peace.take(e)
		switch {
		case quiet && !was:
			all[len(all)-1].to = e.At
		case was && !quiet:
			all = append(all, struct{ from, to time.Duration }{e.At, math.MaxInt64})
		}
	}
	return all
}

func (d disturbed) at(moment timeline.Moment) bool {
	for _, stretch := range d {
		if time.Duration(moment) >= stretch.from && time.Duration(moment) <= stretch.to {
			return true
		}
	}
	return false
}

// steadyNodes is how many nodes the shoot had when it was steady.
func steadyNodes(events []timeline.Event, shoot string) int {
	for _, p := range timeline.About[timeline.ShootReady](events, shoot) {
		return p.Nodes
	}
	return 0
}

// technicalIDs of the shoots, by technical id.
func technicalIDs(events []timeline.Event) map[string]string {
	ids := map[string]string{}
	for e, p := range timeline.Of[timeline.ShootReady](events) {
		ids[p.TechnicalID] = e.Subject
	}
	return ids
}

// Lives splits events at the deletions of a shoot: one that is created again under its name is another shoot, with
// other data and other clients. What others do stands in one part or the other, in its order.
func Lives(events []timeline.Event, shoot string) [][]timeline.Event {
	var lives [][]timeline.Event
	begin, lived := 0, false
	for i, e := range events {
		seen, is := e.Payload.(timeline.ShootSeen)
		if !is || e.Subject != shoot {
			continue
		}
		if seen.Absent && lived {
			lives = append(lives, events[begin:i])
			begin = i
		}
		lived = !seen.Absent
	}
	return append(lives, events[begin:])
}

// LastLife are the events since the shoot was last deleted, or all.
func LastLife(events []timeline.Event, shoot string) []timeline.Event {
	lives := Lives(events, shoot)
	return lives[len(lives)-1]
}

// lastLived are the events of the last time that the shoot was there: those before its deletion where it has gone.
func lastLived(events []timeline.Event, shoot string) []timeline.Event {
	lives := Lives(events, shoot)
	last := lives[len(lives)-1]
	seen, there := 0, 0
	for _, p := range timeline.About[timeline.ShootSeen](last, shoot) {
		seen++
		if !p.Absent {
			there++
		}
	}
	if len(lives) > 1 && seen > 0 && there == 0 {
		return lives[len(lives)-2]
	}
	return last
}

// write is a write, and the event that records it.
type write struct {
	timeline.Write
	seq int
}

// writesOf are the writes to a shoot in its last life, in the order in which they were sent.
func writesOf(events []timeline.Event, shoot string) []write {
	var writes []write
	for e, p := range timeline.About[timeline.Write](LastLife(events, shoot), shoot) {
		writes = append(writes, write{p, e.Seq})
	}
	slices.SortStableFunc(writes, func(a, b write) int { return int(a.Sent - b.Sent) })
	return writes
}

// AwayAtEnd says that a shoot is gone, or goes, or sleeps, or is about to: nobody may expect to see it from within.
func AwayAtEnd(p timeline.ShootSeen) bool {
	return p.Absent || p.Deleting || p.WantsToSleep || p.Hibernated
}

// blindAtEnd says that the last look of a probe has failed: what happened since the one before is not known.
func blindAtEnd(events []timeline.Event, probe string) bool {
	for _, p := range timeline.Of[timeline.Unseen](events) {
		if p.Final && p.Probe == probe {
			return true
		}
	}
	return false
}

// MissingWrites says which writes to a shoot are not on the record, though they were made: what is in the data, and
// what a key was at, cannot be explained without them. Empty when all are there.
func MissingWrites(events []timeline.Event, shoot string) string {
	recorded := map[int]bool{}
	least, most := math.MaxInt, 0
	life := lastLived(events, shoot)
	for _, w := range timeline.About[timeline.Write](life, shoot) {
		recorded[w.Number] = true
		least, most = min(least, w.Number), max(most, w.Number)
	}
	begun := false
	for e, p := range timeline.Of[timeline.ShootReady](life) {
		if begun = begun || e.Subject == shoot; e.Subject == shoot && p.Objects > 0 { // which are the first writes
			least, most = 1, max(most, p.Objects)
		}
	}
	if !begun {
		return "the beginning of " + shoot
	}
	missing := 0
	for number := least; number <= most; number++ {
		if !recorded[number] {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Sprintf("%d of the writes %d to %d to %s", missing, least, most, shoot)
	}
	for _, l := range loadsOf(events) {
		if l.shoot == shoot && l.tried == 0 && l.asked() > 0 {
			return "any write of the load of " + shoot
		}
	}
	return ""
}
