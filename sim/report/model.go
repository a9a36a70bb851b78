package report

import (
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/wording"
)

// Tone says how a thing is meant. The page knows the numbers.
type Tone int

// Tones.
const (
	Plain   Tone = iota
	Good         // acknowledged, succeeded, available
	Bad          // refused, failed, unreachable
	Unclear      // no usable answer; not known
	Lost         // acknowledged, and gone
	Busy         // under way
)

// Model is what the page draws. Times are milliseconds since the start of the run.
type Model struct {
	Started    time.Time `json:"started"`
	End        int64     `json:"end"`
	Live       bool      `json:"live"`
	Rows       []Row     `json:"rows"`
	Faults     []Band    `json:"faults"`
	Violations []Mark    `json:"violations"`
	Events     Columns   `json:"events"`
}

// Row is one row of the picture. Its bars may need several lines.
type Row struct {
	ID    string `json:"id"`
	Group string `json:"group"`
	// Of is the shoot whose rows can be folded into one; empty for a row of its own.
	Of    string `json:"of,omitempty"`
	Label string `json:"label"`
	About string `json:"about"`
	// Form: bars, ticks (one per event), or writes (how many of which tone).
	Form  string `json:"form"`
	Bars  []Bar  `json:"bars,omitempty"`
	Lines int    `json:"lines"`
	// Show are the events that belong to the row.
	Show Selector `json:"show"`
}

// Forms of a row.
const (
	bars   = "bars"
	ticks  = "ticks"
	writes = "writes"
)

// Selector of events; what is empty does not matter.
type Selector struct {
	Kinds   []string `json:"kinds,omitempty"`
	Actor   string   `json:"actor,omitempty"`
	Subject string   `json:"subject,omitempty"`
	// Subjects are several of which one suffices.
	Subjects []string `json:"subjects,omitempty"`
}

// Bar is a stretch of time on a row.
type Bar struct {
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Tone  Tone   `json:"tone"`
	Label string `json:"label,omitempty"`
	About string `json:"about"`
	Line  int    `json:"line,omitempty"` // of the row, from 0
	// Event that begins it, by number; 0 for none.
	Event int `json:"event,omitempty"`
}

// Band is a fault.
type Band struct {
	Name   string   `json:"name"`
	What   string   `json:"what"`
	From   int64    `json:"from"`
	To     int64    `json:"to"`
	Hits   int      `json:"hits"`
	Healed bool     `json:"healed"`
	Begun  bool     `json:"begun"`
	On     []string `json:"on,omitempty"` // rows of who it harms, by their ids
	Event  int      `json:"event"`
}

// Mark is a violation.
type Mark struct {
	At     int64  `json:"at"`
	Number int    `json:"number"` // of its card, from 1
	What   string `json:"what"`
	Events []int  `json:"events,omitempty"`
}

// Columns are the events of a run, one column per field. Names are indices of tables. The first event is number From+1.
type Columns struct {
	From     int      `json:"from"`
	Kinds    []string `json:"kinds"`
	Actors   []string `json:"actors"`
	Subjects []string `json:"subjects"`
	At       []int64  `json:"at"`
	Kind     []int    `json:"kind"`
	Actor    []int    `json:"actor"`
	Subject  []int    `json:"subject"`
	Tone     []Tone   `json:"tone"`
	Text     []string `json:"text"`
}

func ms(d time.Duration) int64 { return d.Milliseconds() }

// ModelOf a run. Events up to number after are left out: the page has them.
func ModelOf(run *Run, after int) Model {
	m := Model{Started: run.Started, End: ms(run.length()), Live: run.Live(), Rows: rowsOf(run), Faults: bandsOf(run),
		Violations: []Mark{}}
	for i := range m.Faults {
		m.Faults[i].On = rowsNamed(m.Faults[i].What, m.Rows)
	}
	if run.Verdict != nil {
		for i, v := range run.Verdict.Violations {
			m.Violations = append(m.Violations, Mark{At: int64(v.At * 1000), Number: i + 1,
				What: v.Oracle + ": " + v.Message, Events: v.Events})
		}
	}
	m.Events = columnsOf(run, after)
	return m
}

// table gives every name a number.
type table struct {
	names   []string
	numbers map[string]int
}

func (t *table) number(name string) int {
	number, known := t.numbers[name]
	if !known {
		if t.numbers == nil {
			t.numbers = map[string]int{}
		}
		number = len(t.names)
		t.names, t.numbers[name] = append(t.names, name), number
	}
	return number
}

func columnsOf(run *Run, after int) Columns {
	var kinds, actors, subjects table
	after = min(max(after, 0), len(run.Events))
	c := Columns{From: after}
	lost := lostEvents(run.Events)
	for _, e := range run.Events[after:] {
		tone := toneOf(e)
		if lost[e.Seq] {
			tone = Lost
		}
		c.At = append(c.At, ms(e.At))
		c.Kind = append(c.Kind, kinds.number(string(e.Kind)))
		c.Actor = append(c.Actor, actors.number(e.Actor))
		c.Subject = append(c.Subject, subjects.number(e.Subject))
		c.Tone = append(c.Tone, tone)
		c.Text = append(c.Text, wording.Sentence(e))
	}
	c.Kinds, c.Actors, c.Subjects = kinds.names, actors.names, subjects.names
	return c
}

// lostEvents are the writes that were acknowledged and are not in the data at the end.
func lostEvents(events []timeline.Event) map[int]bool {
	lost := map[int]bool{}
	for _, loss := range oracle.LostWrites(events) {
		lost[loss.Events[0]] = true
	}
	return lost
}
