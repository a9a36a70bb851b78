package oracle

import (
	"fmt"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// NoLostWrite promises that every acknowledged write is in the data at the end, as it was written, and that nothing is
// there which nobody wrote (docs/specification/migration.md#spec-2-14).
type NoLostWrite struct{}

var _ Oracle = NoLostWrite{}

// Name of the promise.
func (NoLostWrite) Name() string { return "NoLostWrite" }

// Judge compares the data with what was acknowledged, key by key.
func (o NoLostWrite) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	for at, loss := range LostWrites(events) {
		f.add(loss.At, proof(loss.Events...), "%s: acknowledged write %d to %s is lost: %s", loss.Shoot, loss.Write.Number,
			loss.Write.Key, loss.Found)
		if at == mostLosses {
			break
		}
	}
	for e, data := range timeline.Of[timeline.DataSeen](events) {
		if MissingWrites(events, e.Subject) != "" {
			continue // what seems to be written by nobody may be of a write that is not recorded
		}
		o.judgeInvented(&f, e, data, keysOf(writesOf(events, e.Subject)))
	}
	return f.sorted()
}

// mostLosses bounds what is reported one by one.
const mostLosses = 20

func (NoLostWrite) judgeInvented(f *findings, e timeline.Event, data timeline.DataSeen, keys map[string]*history) {
	for _, key := range data.Keys {
		switch h := keys[key.Key]; {
		case h == nil:
			f.add(e.At, proof(e.Seq), "%s: %s is there, but nobody wrote it", e.Subject, key.Key)
		case !h.attempted[key.Number]:
			f.add(e.At, proof(h.seq, e.Seq), "%s: %s holds %d, which nobody wrote to it", e.Subject, key.Key, key.Number)
		case h.uid != "" && key.UID != h.uid:
			f.add(e.At, proof(h.seq, e.Seq), "%s: %s is another object (uid %s) than the one that was created (uid %s)",
				e.Subject, key.Key, key.UID, h.uid)
		}
	}
}

// Lacks the data of shoots that were written to and still exist, and writes at the rate that was asked for: those that
// found nobody count, for who does not try loses nothing. Each shoot is asked by itself: what one has acknowledged says
// nothing about another.
func (NoLostWrite) Lacks(events []timeline.Event) []string {
	read := timeline.Subjects[timeline.DataSeen](events)
	var lacks []string
	last, loaded := state.Of(events).Shoots, Loaded(events)
	total := 0
	for _, shoot := range shootsOf(events) {
		if missing := MissingWrites(events, shoot); missing != "" && slices.Contains(read, shoot) {
			lacks = append(lacks, missing)
		}
		acknowledged := acknowledgedOf(events, shoot)
		total += acknowledged
		gone, written := last[shoot].Absent || last[shoot].Deleting, slices.Contains(loaded, shoot)
		if !slices.Contains(read, shoot) && !gone && (acknowledged > 0 || written) {
			lacks = append(lacks, "the data of "+shoot+" at the end")
		}
	}
	if total == 0 {
		lacks = append(lacks, "acknowledged writes")
	}
	for _, l := range loadsOf(events) {
		if asked := l.asked(); 2*l.tried < asked {
			lacks = append(lacks,
				fmt.Sprintf("the load of %s as it was asked for: %d of %d writes (%d a second for %s) were tried, and %d "+
					"acknowledged",
					l.shoot, l.tried, asked, l.perSecond, l.lasted().Round(time.Millisecond), l.acknowledged))
		} else if l.acknowledged == 0 && asked > 0 && slices.Contains(loaded, l.shoot) {
			lacks = append(lacks, "acknowledged writes to "+l.shoot)
		}
	}
	return lacks
}

func acknowledgedOf(events []timeline.Event, shoot string) (count int) {
	for _, w := range writesOf(events, shoot) {
		if w.Outcome == timeline.Acknowledged {
			count++
		}
	}
	return count
}

// Loss is an acknowledged write that is not in the data at the end.
type Loss struct {
	Shoot string
	Write timeline.Write
	Found string // what is there instead
	At    time.Duration
	// Events are the write and the look at the data, by their Seq.
	Events []int
}

// LostWrites are the acknowledged writes that are not in the data at the end, by shoot and in the order in which they
// were sent. Shoots whose data was not read lose nothing: it is unknown.
func LostWrites(events []timeline.Event) []Loss {
	var losses []Loss
	for e, data := range timeline.Of[timeline.DataSeen](events) {
		there := map[string]timeline.DataKey{}
		for _, key := range data.Keys {
			there[key.Key] = key
		}
		for _, w := range writesOf(events, e.Subject) {
			if w.Outcome != timeline.Acknowledged {
				continue
			}
			key, found := there[w.Key]
			switch {
			case !found:
				losses = append(losses, Loss{e.Subject, w.Write, "the key is absent", e.At, []int{w.seq, e.Seq}})
			case key.Number < w.Number:
				losses = append(losses, Loss{e.Subject, w.Write, "the key holds an older write", e.At, []int{w.seq, e.Seq}})
			}
		}
	}
	return losses
}

// history of the writes to one key. Writes to a key follow each other, and a key is left alone after a write whose
// outcome is unknown.
type history struct {
	attempted map[int]bool
	uid       string
	seq       int // of the event that recorded its creation
}

func keysOf(writes []write) map[string]*history {
	keys := map[string]*history{}
	for _, w := range writes {
		h := keys[w.Key]
		if h == nil {
			h = &history{attempted: map[int]bool{}}
			keys[w.Key] = h
		}
		h.attempted[w.Number] = true
		if w.Verb == "create" && w.Outcome == timeline.Acknowledged {
			h.uid, h.seq = w.UID, w.seq
		}
	}
	return keys
}
