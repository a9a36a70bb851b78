package report

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// ComparisonName is the file in which several runs are compared.
const ComparisonName = "comparison.html"

// comparison shows runs side by side. The others are compared with the first.
type comparison struct {
	Columns []column
	Groups  []rowGroup
	Strips  []strip
	Scale   scale
	Assets  assets
}

type column struct {
	Name, Scenario, Verdict, Tone, Link string
	Headline                            string
}

type rowGroup struct {
	Name string
	Rows []row
}

type row struct {
	Name  string
	Cells []cell
}

// cell is what one run says; Delta is how far it is from the first run.
type cell struct {
	Text, Delta, Tone string
	Best              bool
}

// Compare runs; links leads from the comparison to the report of each.
func Compare(out io.Writer, runs []*Run, links []string) error {
	c := comparison{Assets: theAssets}
	for i, run := range runs {
		p := pageOf(run)
		c.Columns = append(c.Columns, column{Name: run.Name, Scenario: run.Start.Scenario, Verdict: p.Verdict, Tone: p.Tone,
			Link: links[i], Headline: p.Headline})
	}
	c.Groups = []rowGroup{{"Run", runRows(runs)}, {"Measures", measureRows(runs)}, {"Phases, seconds", phaseRows(runs)},
		{"Promises", promiseRows(runs)}}
	c.Groups = slices.DeleteFunc(c.Groups, func(g rowGroup) bool { return len(g.Rows) == 0 })
	c.Scale, c.Strips = stripsOf(runs)
	if err := pages.ExecuteTemplate(out, "compare.html", c); err != nil {
		return fmt.Errorf("render the comparison: %w", err)
	}
	return nil
}

// WriteComparison of the runs in folders into a file.
func WriteComparison(path string, folders []string) error {
	var runs []*Run
	var links []string
	for _, folder := range folders {
		run, err := Load(folder)
		if err != nil {
			return err
		}
		link, err := filepath.Rel(filepath.Dir(path), filepath.Join(folder, FileName))
		if err != nil {
			return fmt.Errorf("find the way from %q to %q: %w", path, folder, err)
		}
		runs, links = append(runs, run), append(links, filepath.ToSlash(link))
	}
	return writeFile(path, func(out io.Writer) error { return Compare(out, runs, links) })
}

func runRows(runs []*Run) []row {
	facts := []struct {
		name string
		of   func(*Run) string
	}{
		{"scenario", func(r *Run) string { return r.Start.Scenario }},
		{"started", func(r *Run) string { return r.Started.UTC().Format("2006-01-02 15:04:05") }},
		{"took", func(r *Run) string { return r.length().Round(100 * time.Millisecond).String() }},
		{"backend", func(r *Run) string { return r.Start.Backend }},
		{"random seed", func(r *Run) string { return fmt.Sprint(r.Start.RandomSeed) }},
		{"timeout multiplier", func(r *Run) string { return fmt.Sprintf("%g", max(r.Start.TimeoutMultiplier, 1)) }},
		{"violations", func(r *Run) string {
			if r.Verdict == nil {
				return ""
			}
			return fmt.Sprint(len(r.Verdict.Violations))
		}},
	}
	var rows []row
	for _, f := range facts {
		one := row{Name: f.name}
		for _, run := range runs {
			one.Cells = append(one.Cells, cell{Text: f.of(run), Tone: "plain"})
		}
		rows = append(rows, one)
	}
	return rows
}

// number of a run, if it has one of this name.
type number struct {
	value float64
	text  string
	tone  string
	known bool
}

func measureRows(runs []*Run) []row {
	return numberRows(runs, func(run *Run) ([]string, map[string]number) {
		var order []string
		numbers := map[string]number{}
		for _, m := range measuresOf(run) {
			order = append(order, m.Name)
			numbers[m.Name] = number{m.Number, strings.TrimSpace(m.Value + " " + m.Unit), m.Tone, true}
		}
		return order, numbers
	})
}

func phaseRows(runs []*Run) []row {
	return numberRows(runs, func(run *Run) ([]string, map[string]number) {
		var order []string
		numbers := map[string]number{}
		for _, p := range phasesOf(run) {
			order = append(order, p.Name)
			numbers[p.Name] = number{p.Seconds, fmt.Sprintf("%.3f", p.Seconds), "plain", true}
		}
		return order, numbers
	})
}

// numberRows lines up numbers by name, in the order in which they first appear.
func numberRows(runs []*Run, of func(*Run) ([]string, map[string]number)) []row {
	var order []string
	var all []map[string]number
	for _, run := range runs {
		if run.Verdict == nil {
			all = append(all, nil)
			continue
		}
		names, numbers := of(run)
		for _, name := range names {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
		all = append(all, numbers)
	}
	var rows []row
	for _, name := range order {
		one := row{Name: name}
		for i := range runs {
			one.Cells = append(one.Cells, compared(all[i][name], all[0][name]))
		}
		markBest(one.Cells, runs, name, all)
		rows = append(rows, one)
	}
	return rows
}

// unsure says that a number of a run is a lower bound, because nobody looked for some of the time.
func unsure(run *Run, name string) bool {
	return (name == apiDowntime || name == longestOutage) && run.Verdict != nil &&
		run.Verdict.Measures.APIUnobservedSeconds != nil && *run.Verdict.Measures.APIUnobservedSeconds > 0
}

// compared is a number beside that of the first run.
func compared(n, first number) cell {
	if !n.known {
		return cell{Text: "–", Tone: "plain"}
	}
	c := cell{Text: n.text, Tone: n.tone}
	if by := n.value - first.value; first.known && by != 0 {
		c.Delta = fmt.Sprintf("%+.3g", by)
		if first.value != 0 {
			c.Delta += fmt.Sprintf(" (%+.0f %%)", 100*by/first.value)
		}
	}
	return c
}

// markBest marks the lowest numbers of a row, unless all are the same: less is better in all that is measured. Where
// one of the runs has no number, or the lowest is unsure, nobody knows which is the best.
func markBest(cells []cell, runs []*Run, name string, all []map[string]number) {
	var values []float64
	for _, numbers := range all {
		n := numbers[name]
		if !n.known {
			return
		}
		values = append(values, n.value)
	}
	if slices.Min(values) == slices.Max(values) {
		return
	}
	for i := range cells {
		cells[i].Best = values[i] == slices.Min(values) && !unsure(runs[i], name)
	}
}

func promiseRows(runs []*Run) []row {
	names := map[string]bool{}
	states := make([]map[string]cell, len(runs))
	for i, run := range runs {
		states[i] = map[string]cell{}
		if run.Verdict == nil {
			continue
		}
		for _, p := range promisesOf(run) {
			names[p.Name] = true
			states[i][p.Name] = cell{Text: p.State(), Tone: p.Tone()}
		}
	}
	var rows []row
	for _, name := range slices.Sorted(maps.Keys(names)) {
		one := row{Name: name}
		for i, run := range runs {
			one.Cells = append(one.Cells, promiseCell(run, name, states[i]))
		}
		rows = append(rows, one)
	}
	return rows
}

func promiseCell(run *Run, name string, states map[string]cell) cell {
	if run.Verdict == nil {
		return cell{Text: "–", Tone: "plain"}
	}
	if c, is := states[name]; is {
		return c
	}
	return cell{Text: "not judged", Tone: "plain"}
}

// anchor is the moment by which runs are laid side by side: the first fault, else the first migration, else the first
// step, else the beginning.
func anchor(run *Run) (time.Duration, string) {
	if e, _, found := timeline.First[timeline.FaultInjected](run.Events); found {
		return e.At, "the first fault"
	}
	if all := measure.Migrations(run.Events); len(all) > 0 {
		return all[0].Asked, "the first migration"
	}
	if e, _, found := timeline.First[timeline.StepStarted](run.Events); found {
		return e.At, "the first step"
	}
	return 0, "the beginning"
}
