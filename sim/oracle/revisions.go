package oracle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Revisions promises that no client ever sees a resource version go backwards without being asked to start over, and
// that none goes on in the data of a new owner without that: a restore bumps the revision and marks the old ones
// compacted (docs/ownership.md#spec-9-3), since what a client has seen last may be lost, and it would believe in it for
// ever.
type Revisions struct{}

var _ Oracle = Revisions{}

// Name of the promise.
func (Revisions) Name() string { return "Revisions" }

// Lacks a long-lived client of each shoot, and what it has seen of the last owner: a client that never comes there
// shows nothing.
func (o Revisions) Lacks(events []timeline.Event) []string {
	seen := map[string]bool{}
	for e, p := range timeline.Of[timeline.VersionsSeen](events) {
		seen[e.Subject] = seen[e.Subject] || len(p.Versions) > 0
	}
	var lacks []string
	last := state.Of(events).Shoots
	for _, shoot := range shootsOf(events) {
		life := LastLife(events, shoot)
		epochs := EpochsOf(life, shoot)
		if missing := MissingWrites(events, shoot); missing != "" {
			lacks = append(lacks, missing)
		}
		switch newest := epochs.newest(); {
		case !seen[shoot]:
			lacks = append(lacks, "resource versions that a client of "+shoot+" has seen")
		case newest != nil && !AwayAtEnd(last[shoot]) && !o.arrived(life, shoot, epochs, newest):
			lacks = append(lacks, fmt.Sprintf("resource versions that a client of %s has seen of epoch %d", shoot,
				newest.Number))
		}
	}
	return lacks
}

// arrived says whether a client has seen versions of an epoch, or, where no revision of it is known, any since it is
// valid.
func (Revisions) arrived(events []timeline.Event, shoot string, epochs Epochs, newest *Epoch) bool {
	for e, p := range timeline.Of[timeline.VersionsSeen](events) {
		of := func(version int64) bool { return newest.low == 0 || epochs.Of(version) == newest.Number }
		if e.Subject == shoot && e.At > newest.Valid && slices.ContainsFunc(p.Versions, of) {
			return true
		}
	}
	return false
}

// Judge long-lived clients by what they list and watch, and single keys by what is read and written.
func (o Revisions) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	for _, shoot := range shootsOf(events) {
		for _, life := range Lives(events, shoot) {
			o.judgeClients(&f, life, shoot)
			o.judgeOwners(&f, life, shoot)
			if MissingWrites(life, shoot) == "" { // they say when a restored store has taken over
				o.judgeKeys(&f, life, shoot)
			}
		}
	}
	return f.sorted()
}

type client struct{ actor, resource string }

func (Revisions) judgeClients(f *findings, events []timeline.Event, shoot string) {
	last := map[client]int64{}
	seen := map[client]int{} // the event that recorded it
	for e, p := range timeline.About[timeline.VersionsSeen](events, shoot) {
		who := client{e.Actor, p.Resource}
		if p.Gone {
			last[who] = 0
		}
		for _, version := range p.Versions {
			if version < last[who] {
				f.add(e.At, proof(seen[who], e.Seq),
					"%s: the client %q saw %s at resource version %d, by %s, after it had seen %d, and was not asked to start over",
					e.Subject, e.Actor, p.Resource, version, p.Source, last[who])
			}
			if version >= last[who] {
				last[who], seen[who] = version, e.Seq
			}
		}
	}
}

// judgeOwners: a client that has seen the data of one owner is asked to start over before it sees those of the next.
func (Revisions) judgeOwners(f *findings, events []timeline.Event, shoot string) {
	type observed struct {
		epoch int64 // 0 while it is not known
		seq   int
	}
	epochs := EpochsOf(events, shoot)
	last := map[client]observed{}
	for e, p := range timeline.About[timeline.VersionsSeen](events, shoot) {
		who := client{e.Actor, p.Resource}
		was := last[who]
		if p.Gone {
			was = observed{}
		}
		for _, version := range p.Versions {
			now := epochs.Of(version)
			if was.epoch != 0 && now > was.epoch && epochs.begun(now, e.At) {
				f.add(e.At, proof(was.seq, e.Seq),
					"%s: the client %q went on from the %s of epoch %d to resource version %d of epoch %d, and was not asked to "+
						"start over",
					shoot, e.Actor, p.Resource, was.epoch, version, now)
				was.epoch = now
			}
			was.epoch = cmp.Or(was.epoch, now)
		}
		was.seq = e.Seq
		last[who] = was
	}
}

// restored is what the restore of an etcd adds to its revision, at least: every client is asked to start over then.
const restored = 1_000_000_000

// Generation of its etcd that a version is of: how often it was restored.
func Generation(version int64) int64 { return version / restored }

// lastAnswers are when each generation but the newest answered a write for the last time. Of a record that ends before
// the run does it is not known which is the newest: one may have been restored that nobody has written to yet.
func lastAnswers(events []timeline.Event, shoot string) map[int64]timeline.Moment {
	last, newest := map[int64]timeline.Moment{}, int64(0)
	for e, p := range timeline.Of[timeline.Write](events) {
		if g := Generation(p.ResourceVersion); e.Subject == shoot && p.Outcome == timeline.Acknowledged &&
			p.ResourceVersion > 0 {
			last[g], newest = max(last[g], p.Answered), max(newest, g)
		}
	}
	if _, _, ended := timeline.First[timeline.RunEnded](events); ended {
		delete(last, newest)
	}
	return last
}

// judgeKeys: what is sent after an answer about the same key has been received never has an older version. But for
// writes that a restore has lost, which are for others to judge: the key then is as it was before them.
func (Revisions) judgeKeys(f *findings, events []timeline.Event, shoot string) {
	type observed struct {
		answered timeline.Moment
		version  int64
		seq      int
	}
	ended := lastAnswers(events, shoot)
	highest := map[string][]observed{} // of each key, in the order of the timeline, which is that of the answers
	look := func(e timeline.Event, k string, sent, answered timeline.Moment, version int64) {
		for _, earlier := range highest[k] {
			if end, over := ended[Generation(earlier.version)]; over && answered > end {
				continue
			}
			if earlier.answered < sent && version < earlier.version {
				f.add(e.At, proof(earlier.seq, e.Seq),
					"%s: %s was at resource version %d, though a client had seen %d before it asked", shoot, k, version,
					earlier.version)
				break
			}
		}
		highest[k] = append(highest[k], observed{answered, version, e.Seq})
	}
	for _, e := range events {
		if e.Subject != shoot {
			continue
		}
		switch p := e.Payload.(type) {
		case timeline.Read:
			if p.Outcome == timeline.Acknowledged && p.ResourceVersion > 0 {
				look(e, p.Key, p.Sent, p.Answered, p.ResourceVersion)
			}
		case timeline.Write:
			if p.Outcome == timeline.Acknowledged && p.ResourceVersion > 0 {
				look(e, p.Key, p.Sent, p.Answered, p.ResourceVersion)
			}
		}
	}
}
