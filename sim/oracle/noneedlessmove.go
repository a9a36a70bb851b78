package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// NoNeedlessMove promises that a shoot whose API answers is not evacuated: where a second sign of death is required, a
// shoot of a silent seed is left where it is until it has not answered for the grace period
// (docs/ownership.md#spec-9-4).
//
// It judges each binding to another seed that no step has asked for, by what a user saw in that time before it. A shoot
// that did not answer for half of it may be moved: who asks it, asks less often than this user. Where nobody tried for
// so long, nothing is said.
type NoNeedlessMove struct{}

var _ Oracle = NoNeedlessMove{}

// Name of the promise.
func (NoNeedlessMove) Name() string { return "NoNeedlessMove" }

// Lacks a silent seed, and whether a shoot answered before it was bound to another seed.
func (NoNeedlessMove) Lacks(events []timeline.Event) []string {
	if describedIn(events).patience() == 0 {
		return []string{"a grace period in which shoots of a silent seed are asked (settings.secondSign)"}
	}
	var lacks []string
	moves := evacuationsOf(events)
	for _, m := range moves {
		if m.unknown != "" {
			lacks = append(lacks, m.unknown)
		}
	}
	if len(moves) == 0 && !slices.ContainsFunc(events, isSilentSeed) {
		lacks = append(lacks, "a seed that is silent")
	}
	return lacks
}

func isSilentSeed(e timeline.Event) bool {
	seed, is := e.Payload.(timeline.SeedSeen)
	return is && seed.Gardenlet("Unknown")
}

// Judge each evacuation by the answers before it.
func (o NoNeedlessMove) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	for _, m := range evacuationsOf(events) {
		if m.answered {
			f.add(m.bound.At, proof(m.before.Seq, m.last, m.bound.Seq),
				"%s: it is evacuated from %q to %q, though its API answered: in the %s before, it was silent for at most %s",
				m.bound.Subject, m.from, m.to, m.patience, m.silence.Round(time.Millisecond))
		}
	}
	return f.sorted()
}

// evacuation is a binding of a shoot to another seed that no step has asked for.
type evacuation struct {
	before, bound timeline.Event // the states of the Shoot before and after
	from, to      string
	patience      time.Duration
	silence       time.Duration // the longest in the time before
	last          int           // the event of the last answer
	answered      bool          // it answered all the time
	unknown       string        // why that is not known
}

func evacuationsOf(events []timeline.Event) (all []evacuation) {
	patience := describedIn(events).patience()
	if patience == 0 {
		return nil
	}
	before := map[string]timeline.Event{}
	asked := map[string]string{} // the seed that the last step asked for, by shoot
	refused := ""                // the shoot of the last step, if that must be refused
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			delete(asked, refused) // a request that was refused, as it must be, is over
			refused = ""
			if p.To != "" {
				asked[e.Subject] = p.To
			}
			if p.Refused {
				refused = e.Subject
			}
		case timeline.ShootSeen:
			last := before[e.Subject]
			was, known := last.Payload.(timeline.ShootSeen)
			before[e.Subject] = e
			if !known || p.Absent || was.SpecSeed == "" || p.SpecSeed == was.SpecSeed || was.SpecSeed != was.StatusSeed {
				continue
			}
			if asked[e.Subject] == p.SpecSeed {
				delete(asked, e.Subject)
				continue
			}
			m := evacuation{before: last, bound: e, from: was.SpecSeed, to: p.SpecSeed, patience: patience}
			m.judge(events, p.StatusSeed)
			all = append(all, m)
		}
	}
	return all
}

// judge whether the shoot answered all the time before it was bound. If another seed had it already when it was first
// seen bound, the answers may be that seed's.
func (m *evacuation) judge(events []timeline.Event, statusSeed string) {
	from, to := m.bound.At-m.patience, m.bound.At
	if statusSeed != m.from {
		m.unknown = fmt.Sprintf("when %s was bound to seed %q", m.bound.Subject, m.to)
		return
	}
	tried, answered := []time.Duration{from, to}, []time.Duration{from, to}
	for e, p := range timeline.About[timeline.Reached](events, m.bound.Subject) {
		if at := time.Duration(p.Sent); at > from && at < to {
			tried = append(tried, at)
		}
		if at := time.Duration(p.Answered); p.Outcome == timeline.Acknowledged && at > from && at < to {
			answered = append(answered, at)
			m.last = e.Seq
		}
	}
	if m.silence = longest(answered); m.silence < m.patience/2 {
		m.answered = true
	} else if gap := longest(tried); gap >= m.patience/2 {
		m.unknown = fmt.Sprintf("whether %s answered before it was bound to seed %q: nobody tried for %s", m.bound.Subject,
			m.to, gap.Round(time.Millisecond))
	}
}

// longest time between two moments that follow each other.
func longest(moments []time.Duration) (most time.Duration) {
	slices.SortFunc(moments, cmp.Compare[time.Duration])
	for i := 1; i < len(moments); i++ {
		most = max(most, moments[i]-moments[i-1])
	}
	return most
}
