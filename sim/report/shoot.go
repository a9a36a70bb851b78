package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// shootRows: what is done with a shoot, how its migrations go, whether it answers, what is written, its nodes, and
// which of its conditions are not True. Rows on which there is nothing are left out.
func shootRows(run *Run, shoot string) []Row {
	subject := func(kinds ...string) Selector { return Selector{Kinds: kinds, Subject: shoot} }
	rows := []Row{barRow(groupShoots, shoot+" operation", "lastOperation of the Shoot, and the seed it is on",
		operationBars(run, shoot), subject("ShootSeen", "ShootReady"))}
	add := func(label, about string, all []Bar, show Selector) {
		if len(all) > 0 {
			rows = append(rows, barRow(groupShoots, shoot+" "+label, about, all, show))
		}
	}
	add("phases", "the parts of a migration, and the moments of a recovery", phaseBars(run, shoot),
		subject("ShootSeen", "CloudCalled", "EpochSeen"))
	if reached := apiBars(run, shoot); len(reached) > 0 {
		// Attempts overlap, and so do the edges of outages; it is one thing all the same, and one row.
		rows = append(rows, Row{ID: rowID(groupShoots, shoot+" API"), Group: groupShoots, Label: shoot + " API",
			About: "whether its API server could be reached by name",
			Form:  bars, Bars: reached, Lines: 1, Show: subject("Reached")})
	}
	if slices.ContainsFunc(run.Events, func(e timeline.Event) bool {
		return e.Subject == shoot && e.Kind == timeline.Write{}.Kind()
	}) {
		rows = append(rows, Row{ID: rowID(groupShoots, shoot+" writes"), Group: groupShoots, Label: shoot + " writes",
			Form: writes, Lines: 3, Show: subject("Write"),
			About: "writes to it: acknowledged, refused, without an answer, and acknowledged but lost"})
	}
	add("nodes", "how many of its nodes are ready", nodeBars(run, shoot), subject("NodeSeen", "PodSeen"))
	add("conditions", "conditions that were not True", conditionBars(run, shoot), subject("ShootSeen"))
	for i := range rows {
		rows[i].Of = shoot
	}
	return rows
}

// stretches makes bars of what follows each other: a new bar begins whenever the key changes. An empty key is no bar.
type stretches struct {
	bars []Bar
	key  string
}

func (s *stretches) change(at int64, key string, begin Bar) {
	if key == s.key {
		return
	}
	s.end(at)
	if s.key = key; key != "" {
		begin.From, begin.To = at, at
		s.bars = append(s.bars, begin)
	}
}

// open is the bar that goes on.
func (s *stretches) open() *Bar {
	if s.key == "" || len(s.bars) == 0 {
		return nil
	}
	return &s.bars[len(s.bars)-1]
}

func (s *stretches) end(at int64) {
	if bar := s.open(); bar != nil {
		bar.To = at
	}
}

func operationBars(run *Run, shoot string) []Bar {
	var all stretches
	for e, p := range timeline.About[timeline.ShootSeen](run.Events, shoot) {
		o, seed := p.Operation, cmp.Or(p.StatusSeed, p.SpecSeed)
		key, label := "", ""
		if !p.Absent && o.Type != "" {
			shown := o.State
			if shown == "Pending" {
				shown = "Processing"
			}
			key, label = strings.Join([]string{o.Type, shown, p.StatusSeed}, "/"), o.Type
			if o.State == "Succeeded" {
				label = "on " + seed
			} else if o.State != "Processing" {
				label += " " + o.State
			}
		}
		all.change(ms(e.At), key, Bar{Tone: operationTone(o), Label: label, Event: e.Seq})
		if bar := all.open(); bar != nil {
			bar.About = fmt.Sprintf("%s %s %d%% on %s: %s", o.Type, o.State, o.Progress, seed, o.Description)
			if len(p.Errors) > 0 {
				bar.About += "; error: " + strings.Join(p.Errors, "; ")
			}
		}
	}
	all.end(ms(run.length()))
	return all.bars
}

// partNames of a migration, in their order.
var partNames = map[string]string{"asked": "asked", "migrate": "migrate", "handOver": "hand-over", "restore": "restore"}

func phaseBars(run *Run, shoot string) []Bar {
	var all []Bar
	for _, m := range measure.Migrations(run.Events) {
		if m.Shoot != shoot {
			continue
		}
		for name, part := range m.Parts() {
			if label, is := partNames[name]; is && part.From > 0 && part.To > 0 {
				all = append(all, Bar{From: ms(part.From), To: ms(part.To), Label: label, Tone: Plain,
					About: fmt.Sprintf("%s: %s of a migration, %.3f s", shoot, label, part.Length().Seconds())})
			}
		}
	}
	return append(all, momentBars(run, shoot)...)
}

// momentBars are the moments of a recovery: what had come by then since the moment before.
func momentBars(run *Run, shoot string) []Bar {
	since, moments := measure.RecoveryOf(run.Events, shoot)
	var all []Bar
	from := since
	for _, name := range slices.SortedFunc(maps.Keys(moments), func(a, b string) int {
		return cmp.Or(cmp.Compare(moments[a], moments[b]), cmp.Compare(a, b))
	}) {
		at := moments[name]
		all = append(all, Bar{From: ms(from), To: ms(at), Label: name, Tone: Plain,
			About: fmt.Sprintf("%s: %s, %.3f s after the fault", shoot, name, (at - since).Seconds())})
		from = at
	}
	return all
}

func apiBars(run *Run, shoot string) []Bar {
	seen := measure.AvailabilityOf(run.Events, shoot)
	if !seen.Attempted {
		return nil
	}
	var all []Bar
	add := func(intervals []measure.Interval, tone Tone, label string) {
		for _, i := range intervals {
			about := fmt.Sprintf("%s's API: %s for %.3f s", shoot, label, i.Length().Seconds())
			all = append(all, Bar{From: ms(i.From), To: ms(i.To), Tone: tone, Label: label, About: about})
		}
	}
	notGood := slices.Concat(seen.Outages, seen.Unobserved)
	slices.SortFunc(notGood, func(a, b measure.Interval) int { return cmp.Compare(a.From, b.From) })
	for _, due := range seen.Due {
		add(due.Without(notGood), Good, "reachable")
	}
	add(seen.Outages, Bad, "unreachable")
	add(seen.Unobserved, Plain, "not observed")
	add(seen.Away, Plain, "hibernated, or being deleted")
	slices.SortFunc(all, func(a, b Bar) int { return cmp.Compare(a.From, b.From) })
	return all
}

func nodeBars(run *Run, shoot string) []Bar {
	now := state.New()
	var all stretches
	for e := range timeline.About[timeline.NodeSeen](run.Events, shoot) {
		now.Take(e)
		ready, there := now.Nodes(shoot)
		tone := Good
		if ready < there || ready == 0 {
			tone = Bad
		}
		label := fmt.Sprintf("%d of %d ready", ready, there)
		all.change(ms(e.At), label, Bar{Tone: tone, Label: label, Event: e.Seq, About: fmt.Sprintf("%s: %s nodes", shoot,
			label)})
	}
	all.end(ms(run.length()))
	return slices.DeleteFunc(all.bars, func(b Bar) bool { return b.To-b.From < 2 && len(all.bars) > 1 })
}

func conditionBars(run *Run, shoot string) []Bar {
	types := map[string]*stretches{}
	for e, p := range timeline.About[timeline.ShootSeen](run.Events, shoot) {
		now := map[string]timeline.ConditionIs{}
		for _, c := range p.Conditions {
			if types[c.Type] == nil {
				types[c.Type] = &stretches{}
			}
			if c.Status != "True" {
				now[c.Type] = c
			}
		}
		for name, s := range types {
			status, about := now[name].Status, fmt.Sprintf("%s: %s is %s", shoot, name, now[name].Status)
			if why := now[name].Why(); why != "" {
				about += ": " + why
			}
			s.change(ms(e.At), status, Bar{Tone: conditionTone(status), Label: name + " " + status, Event: e.Seq})
			if bar := s.open(); bar != nil {
				bar.About = about
			}
		}
	}
	var all []Bar
	for _, name := range slices.Sorted(maps.Keys(types)) {
		types[name].end(ms(run.length()))
		all = append(all, types[name].bars...)
	}
	return all
}

func conditionTone(status string) Tone {
	if status == "False" {
		return Bad
	}
	return Unclear
}
