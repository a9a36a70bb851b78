package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// impossibleTraffic: an answer comes after its question and before it is recorded, and what was written has a version
// and a UID. The cloud has a clock of its own, which may differ from ours by what two processes' clocks do.
func impossibleTraffic(events []timeline.Event) (found []string) {
	reported := map[string]bool{}
	wrong := func(e timeline.Event, what string) {
		if !reported[what] {
			reported[what] = true
			found = append(found, fmt.Sprintf("event %d, a %s, %s", e.Seq, e.Payload.Kind(), what))
		}
	}
	order := func(e timeline.Event, sent, answered timeline.Moment) {
		switch {
		case sent <= 0:
			wrong(e, "was sent before the run began")
		case answered <= sent:
			wrong(e, "was answered before it was sent")
		case time.Duration(answered) > e.At:
			wrong(e, "was recorded before it was answered")
		}
	}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.Write:
			order(e, p.Sent, p.Answered)
			if p.Outcome == timeline.Acknowledged && (p.ResourceVersion == 0 || p.UID == "") {
				wrong(e, "was acknowledged, and nothing shows that it was written: it has no version or no UID")
			}
		case timeline.Read:
			order(e, p.Sent, p.Answered)
		case timeline.CachedRead:
			order(e, p.Sent, p.Answered)
		case timeline.Reached:
			order(e, p.Sent, p.Answered)
		case timeline.EpochSeen:
			order(e, p.Sent, p.Answered)
		case timeline.CloudCalled:
			if time.Duration(p.Made) > e.At+clocksDiffer {
				wrong(e, "was recorded before it was made: the cloud's clock is ahead")
			}
		}
	}
	return found
}

// clocksDiffer is by how much the clocks of two processes may differ.
const clocksDiffer = time.Second

// pastTheLinks: whatever a user was answered has crossed the user's link.
func pastTheLinks(events []timeline.Event) []string {
	const user, shoots = "user", "shoots"
	var first, last *timeline.CostSeen
	var since, until time.Duration
	for e, p := range timeline.Of[timeline.CostSeen](events) {
		if first == nil {
			first, since = &p, e.At
		}
		last, until = &p, e.At
	}
	if first == nil {
		return nil
	}
	answered := int64(0)
	count := func(e timeline.Event, outcome timeline.Outcome, at timeline.Moment) {
		within := time.Duration(at) > since && time.Duration(at) < until
		if e.Actor == user && outcome == timeline.Acknowledged && within {
			answered++
		}
	}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.Write:
			count(e, p.Outcome, p.Answered)
		case timeline.Read:
			count(e, p.Outcome, p.Answered)
		case timeline.Reached:
			count(e, p.Outcome, p.Answered)
		}
	}
	if crossed := crossing(last, user, shoots) - crossing(first, user, shoots); crossed < answered {
		return []string{fmt.Sprintf("users were answered %d times, and %d requests have crossed their link",
			answered, crossed)}
	}
	return nil
}

func crossing(seen *timeline.CostSeen, from, to string) int64 {
	for _, l := range seen.Links {
		if l.From == from && l.To == to {
			return l.Requests
		}
	}
	return 0
}

// goneUnsaid: only a server can ask a client to start over. A shoot that is created anew has new clients.
func goneUnsaid(events []timeline.Event) []string {
	type client struct{ shoot, actor, resource string }
	known := map[client]bool{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.ShootSeen:
			if p.Absent {
				maps.DeleteFunc(known, func(c client, _ bool) bool { return c.shoot == e.Subject })
			}
		case timeline.VersionsSeen:
			who := client{e.Subject, e.Actor, p.Resource}
			anew := p.Gone || p.Source == "list" && known[who]
			if known[who] = true; anew && (!p.Gone || p.Status != http.StatusGone) {
				return []string{fmt.Sprintf("event %d: the client %q starts over, and no server has asked it to (status %d)",
					e.Seq, e.Actor, p.Status)}
			}
		}
	}
	return nil
}

// Readers who find nobody, so many and for so long, contradict who reaches the shoot all the while by the same name.
const (
	unansweredReads = 4
	unansweredFor   = 1500 * time.Millisecond
)

// twoTruths: who reads from a shoot on a new connection and who only tries whether it answers find the same.
func twoTruths(events []timeline.Event) []string {
	reads, reached := map[string][]timeline.Read{}, map[string][]timeline.Reached{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.Read:
			reads[e.Subject] = append(reads[e.Subject], p)
		case timeline.Reached:
			reached[e.Subject] = append(reached[e.Subject], p)
		}
	}
	for _, shoot := range slices.Sorted(maps.Keys(reads)) {
		slices.SortStableFunc(reads[shoot], func(a, b timeline.Read) int { return cmp.Compare(a.Sent, b.Sent) })
		run := 0 // how many in a row were not answered
		for i, r := range reads[shoot] {
			if run++; r.Outcome == timeline.Acknowledged {
				run = 0
			}
			if run < unansweredReads {
				continue
			}
			from := reads[shoot][i+1-run].Sent
			if time.Duration(r.Sent-from) < unansweredFor {
				continue
			}
			if n := allReached(reached[shoot], from, r.Sent); n >= unansweredReads {
				return []string{fmt.Sprintf("%s: %d reads from %s to %s were not answered, and all %d tries to reach it were",
					shoot, run, from, r.Sent, n)}
			}
		}
	}
	return nil
}

// allReached is how many tries there were in a stretch of time, if all of them were answered.
func allReached(tries []timeline.Reached, from, to timeline.Moment) (n int) {
	for _, r := range tries {
		if r.Sent < from || r.Sent > to {
			continue
		}
		if r.Outcome != timeline.Acknowledged {
			return 0
		}
		n++
	}
	return n
}

// unequalCounts: what was read of the data at the end is all that there is. Nothing deletes it before it is counted; a
// write of which nobody knows whether it will take effect may do so in between, and one that was answered after the
// data was read may not be in it.
func unequalCounts(events []timeline.Event) []string {
	read, late := map[string]map[string]bool{}, map[string]int{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.DataSeen:
			read[e.Subject] = map[string]bool{}
			for _, key := range p.Keys {
				read[e.Subject][key.Key] = true
			}
			late[e.Subject] = lateKeys(events, e, read[e.Subject])
		case timeline.DataCounted:
			keys, known := read[e.Subject]
			least, most := int64(len(keys)), int64(len(keys)+late[e.Subject])
			if known && (p.Keys < least || p.Keys > most) {
				return []string{fmt.Sprintf("%s: %d keys were read at the end, and a user counts %d", e.Subject, least, p.Keys)}
			}
		}
	}
	return nil
}

// requestTimeout is how long an API server works on one request at most, by its default.
const requestTimeout = time.Minute

// lateKeys is how many keys may have been made after the data was read without them.
func lateKeys(events []timeline.Event, seen timeline.Event, read map[string]bool) int {
	late := map[string]bool{}
	for e, w := range timeline.Of[timeline.Write](LastLife(events, seen.Subject)) {
		open := w.Outcome == timeline.Unknown && seen.At-time.Duration(w.Sent) < requestTimeout ||
			w.Outcome == timeline.Acknowledged && time.Duration(w.Answered) >= seen.At
		if e.Subject == seen.Subject && open && !read[w.Key] {
			late[w.Key] = true
		}
	}
	return len(late)
}
