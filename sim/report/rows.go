package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Groups of rows, in the order in which they are shown.
const (
	groupScenario = "Scenario"
	groupShoots   = "Shoots"
	groupClusters = "Clusters"
	groupActors   = "Actors"
)

// rowsOf a run: the scenario, its shoots, the clusters, and the actors.
func rowsOf(run *Run) []Row {
	rows := scenarioRows(run)
	for _, shoot := range slices.Sorted(maps.Keys(state.Of(run.Events).Shoots)) {
		rows = append(rows, shootRows(run, shoot)...)
	}
	rows = append(rows, clusterRows(run)...)
	return append(rows, actorRows(run)...)
}

// barRow is a row of bars, with as many lines as they need.
func barRow(group, label, about string, all []Bar, show Selector) Row {
	return Row{ID: rowID(group, label), Group: group, Label: label, About: about, Form: bars, Bars: all, Lines: pack(all),
		Show: show}
}

func rowID(group, label string) string {
	return strings.ToLower(group) + "/" + strings.ReplaceAll(label, " ", "-")
}

// pack gives bars lines on which they do not cover each other, and returns how many lines there are, at least 1.
func pack(all []Bar) int {
	slices.SortStableFunc(all, func(a, b Bar) int { return cmp.Compare(a.From, b.From) })
	var free []int64
	for i := range all {
		line := slices.IndexFunc(free, func(until int64) bool { return until <= all[i].From })
		if line < 0 {
			line = len(free)
			free = append(free, 0)
		}
		all[i].Line, free[line] = line, max(all[i].To, all[i].From)
	}
	return max(len(free), 1)
}

func scenarioRows(run *Run) []Row {
	kinds := []string{"StepStarted", "StepEnded", "FaultAwaited", "FaultInjected", "FaultHealed", "Settling", "Settled",
		"LandscapeReady", "ShootReady", "RunStarted", "RunEnded", "Note"}
	rows := []Row{barRow(groupScenario, "steps", "what the scenario does, and how each step ended", stepBars(run),
		Selector{Kinds: kinds[:2]})}
	var faults []Bar
	for _, band := range bandsOf(run) {
		if !band.Begun {
			continue
		}
		faults = append(faults, Bar{From: band.From, To: band.To, Tone: Bad, Label: bandLabel(band), Event: band.Event,
			About: bandText(band)})
	}
	if len(faults) > 0 {
		rows = append(rows, barRow(groupScenario, "faults", "what is harmed on purpose, and how often that hit", faults,
			Selector{Kinds: kinds[2:5]}))
	}
	return append(rows, Row{ID: rowID(groupScenario, "notes"), Group: groupScenario, Label: "notes",
		About: "what else is recorded of the run", Form: ticks, Lines: 1,
		Show: Selector{Kinds: append(kinds[5:], "Unseen", "InventorySeen", "DataSeen", "DataCounted", "ObjectsSeen",
			"ActorEnded")}})
}

// bandLabel is a fault's name, and its hits: their number is known when it is healed.
func bandLabel(b Band) string {
	if b.Healed {
		return b.Name + ", " + counted(b.Hits, "hit")
	}
	return b.Name
}

func bandText(b Band) string {
	text := fmt.Sprintf("fault %s, %s: from %s", b.Name, b.What, clock(b.From))
	if b.Healed {
		return fmt.Sprintf("%s to %s, %s", text, clock(b.To), counted(b.Hits, "hit"))
	}
	return text + ", not healed yet"
}

// clock is a moment of the run for people.
func clock(moment int64) string { return fmt.Sprintf("%.1f s", float64(moment)/1000) }

func stepBars(run *Run) []Bar {
	var all []Bar
	open := -1
	settling := -1
	for _, e := range run.Events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			open = len(all)
			all = append(all, Bar{From: ms(e.At), To: ms(run.length()), Tone: Busy,
				Label: fmt.Sprintf("%d %s", p.Index+1, p.Text), About: fmt.Sprintf("step %d: %s", p.Index+1, p.Text), Event: e.Seq})
		case timeline.StepEnded:
			if open < 0 {
				continue
			}
			all[open].To, all[open].Tone = ms(e.At), toneOf(e)
			all[open].About += fmt.Sprintf(", %s after %s", strings.ToLower(string(p.Outcome)),
				clock(all[open].To-all[open].From))
			if p.Message != "" {
				all[open].About += ": " + p.Message
			}
			open = -1
		case timeline.Settling:
			settling = len(all)
			all = append(all, Bar{From: ms(e.At), To: ms(run.length()), Tone: Busy, Label: "settle",
				About: "wait until everything settles", Event: e.Seq})
		case timeline.Settled:
			if settling >= 0 {
				all[settling].To, all[settling].Tone = ms(e.At), toneOf(e)
			}
		}
	}
	return all
}

// bandsOf the faults, in the order in which they begin. One that waits for its moment has not begun.
func bandsOf(run *Run) []Band {
	bands := []Band{}
	last := map[string]int{}
	for _, e := range run.Events {
		at, known := last[e.Subject]
		switch p := e.Payload.(type) {
		case timeline.FaultAwaited:
			last[e.Subject] = len(bands)
			bands = append(bands, Band{Name: e.Subject, What: p.Fault, From: ms(e.At), To: ms(run.length()), Event: e.Seq})
		case timeline.FaultInjected:
			if !known || bands[at].Begun {
				at = len(bands)
				last[e.Subject] = at
				bands = append(bands, Band{Name: e.Subject})
			}
			bands[at] = Band{Name: e.Subject, What: p.Fault, From: ms(e.At), To: ms(run.length()), Begun: true, Event: e.Seq}
		case timeline.FaultHealed:
			if known {
				bands[at].To, bands[at].Healed, bands[at].Hits = ms(e.At), true, p.Hits
			}
		}
	}
	return bands
}

// rowsNamed are the rows of who stands in a fault's brackets: of "cut(gardenlet-a,garden)", gardenlet-a and the
// garden.
func rowsNamed(fault string, rows []Row) []string {
	names := namesIn(fault)
	var ids []string
	for _, row := range rows {
		if slices.Contains(names, row.Label) || slices.Contains(names, strings.TrimPrefix(row.Label, "seed ")) ||
			slices.Contains(names, row.Of) {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// namesIn a fault's brackets: in those of "cut(gardenlet-a,garden)", gardenlet-a and garden.
func namesIn(fault string) []string {
	_, inside, _ := strings.Cut(fault, "(")
	inside, _, _ = strings.Cut(inside, ")")
	return strings.FieldsFunc(inside, func(r rune) bool { return strings.ContainsRune(", /", r) })
}

// actorRows: one for each actor of the landscape, and for whoever else was heard of. They have a tick for each thing
// that somebody did or saw; of whom nobody heard there are the faults.
func actorRows(run *Run) []Row {
	if len(run.Events) == 0 {
		return nil
	}
	heard := map[string]bool{}
	for _, e := range run.Events {
		if e.Actor != "" {
			heard[e.Actor] = true
		}
	}
	harmed := map[string][]Band{}
	for _, actor := range run.Scenario.Spec.Landscape.Actors() {
		if !heard[actor] {
			harmed[actor] = nil
		}
	}
	for _, band := range bandsOf(run) {
		for _, name := range namesIn(band.What) {
			if bands, is := harmed[name]; is && band.Begun {
				harmed[name] = append(bands, band)
			}
		}
	}
	var rows []Row
	for actor, bands := range harmed {
		rows = append(rows, silentRow(actor, bands))
	}
	for actor := range heard {
		rows = append(rows, Row{ID: rowID(groupActors, actor), Group: groupActors, Label: actor, About: aboutActor(actor),
			Form: ticks, Lines: 1, Show: Selector{Actor: actor}})
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Label, b.Label) })
	return rows
}

// silentRow shows what was done to an actor that did nothing that is recorded.
func silentRow(actor string, bands []Band) Row {
	if len(bands) == 0 {
		return barRow(groupActors, actor, "nothing is recorded of "+actor+", and no fault names it", nil,
			Selector{Actor: actor})
	}
	var all []Bar
	show := Selector{Kinds: []string{"FaultAwaited", "FaultInjected", "FaultHealed"}}
	for _, band := range bands {
		all = append(all, Bar{From: band.From, To: band.To, Tone: Bad, Label: bandLabel(band), Event: band.Event,
			About: bandText(band)})
		show.Subjects = append(show.Subjects, band.Name)
	}
	return barRow(groupActors, actor, "faults of "+actor+", of whom nothing else is recorded", all, show)
}

// aboutActor says what the ticks of an actor are.
func aboutActor(actor string) string {
	switch actor {
	case world.Operator:
		return "the scenario itself: its steps and faults"
	case world.Observer:
		return "what the harness saw, over links that are never harmed"
	case world.User:
		return "what the shoots' users wrote, read and reached, by name"
	}
	return "calls to the cloud by " + actor
}
