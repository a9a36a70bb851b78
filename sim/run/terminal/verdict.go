package terminal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/wording"
)

// Brief shows the verdict on a run in a line, and below it what was violated, why it did not pass, and what was not
// judged.
func Brief(out io.Writer, r *verdict.Report) {
	s := stylesFor(out)
	painted := s.bad
	if r.Verdict == verdict.Passed {
		painted = s.good.Bold(true)
	}
	how := fmt.Sprintf("%.1fs on %s, %s", r.WallSeconds, r.Backend, r.Flags())
	fmt.Fprintf(out, "%s  %s  %s\n", painted.Render(string(r.Verdict)), r.Scenario, s.quiet.Render(how))
	for _, v := range r.Violations {
		fmt.Fprintf(out, "  %s\n", s.bad.Render(fmt.Sprintf("%s at %.1fs: %s", v.Oracle, v.At, v.Message)))
	}
	for _, reason := range r.Reasons {
		fmt.Fprintf(out, "  %s\n", reason)
	}
	for _, what := range r.NotJudged {
		fmt.Fprintf(out, "  not judged again: %s\n", what)
	}
}

// Verdict shows the verdict on a run: violations, measures, and where the evidence is.
func Verdict(out io.Writer, r *verdict.Report, folder string) {
	fmt.Fprintln(out)
	Brief(out, r)
	if len(r.Promises) > 0 {
		fmt.Fprintf(out, "  judged by %s\n", strings.Join(r.Promises, ", "))
	}
	if measures := measureLines(r); len(measures) > 0 {
		fmt.Fprintf(out, "  %s\n", strings.Join(measures, "\n  "))
	}
	for _, f := range r.Faults {
		fmt.Fprintf(out, "  fault %s hit %s\n", f.Name, wording.Times(f.Hits))
	}
	page := filepath.Join(folder, report.FileName)
	look := "look at " + page
	if _, err := os.Stat(page); err != nil { // the run was killed before it was written
		look = "make a page to look at with transplant report " + shellescape.Quote(folder)
	}
	if _, err := os.Stat(filepath.Join(folder, verdict.LogsName)); err == nil {
		look += ", and for logs in " + filepath.Join(folder, verdict.LogsName)
	}
	fmt.Fprintf(out, "  kept in %s; %s\n", folder, look)
}

// measureLine is one number, with its unit, and what there is to say of it.
type measureLine struct{ name, value, more string }

// measureLines lists what was measured, each with its goal if the scenario has one.
func measureLines(r *verdict.Report) []string {
	var lines []measureLine
	add := func(name, format string, value any, more string) {
		lines = append(lines, measureLine{name, fmt.Sprintf(format, value), more})
	}
	seconds := func(name string, value *float64, more string) {
		if value != nil {
			add(name, "%8.3f s", *value, more)
		}
	}
	m := r.Measures
	downtime := goalOf(r, "apiDowntime", " s")
	if m.APIUnobservedSeconds != nil {
		downtime += fmt.Sprintf(", at least: for %.3f s nobody tried", *m.APIUnobservedSeconds)
	}
	seconds("API downtime", m.APIDowntimeSeconds, downtime)
	seconds("longest outage", m.APILongestGapSeconds, "")
	seconds("API downtime of bystanders", m.BystanderDowntimeSeconds, goalOf(r, "bystanderDowntime", " s"))
	if m.LostWrites != nil {
		add("lost writes", "%8d", *m.LostWrites, goalOf(r, "lostWrites", ""))
	}
	if goal := goalOf(r, "restoresAtOnce", ""); m.RestoresAtOnce != nil && (*m.RestoresAtOnce > 1 || goal != "") {
		add("restores at once", "%8d", *m.RestoresAtOnce, goal)
	}
	if v := m.Evacuation; v != nil && v.RequestsPerShoot != nil {
		seconds("evacuation", &v.Seconds, fmt.Sprintf(" for all %d: %.0f requests and %.1f s of processor time for each",
			v.Shoots, *v.RequestsPerShoot, *v.CPUSecondsPerShoot))
	}
	seconds("RPO", m.RPOSeconds, goalOf(r, "rpo", " s"))
	seconds("RTO", m.RTOSeconds, goalOf(r, "rto", " s"))
	if d := r.AtDefaults; d != nil {
		seconds("RTO at default settings", &d.RTOSeconds,
			fmt.Sprintf(": %.3f s of work as measured, %g s of waits (grace period, ownership); clients may keep the old "+
				"address up to %g s longer",
				d.WorkSeconds, d.WaitSeconds, d.DNSSeconds))
		seconds("RPO at default settings", d.RPOAtMostSeconds,
			" at most: what may be written between two incremental backups there")
	}
	for _, phase := range measure.InOrder(m.Phases) {
		value := m.Phases[phase]
		seconds("phase "+phase, &value, "")
	}
	width := 24
	for _, line := range lines {
		width = max(width, len(line.name))
	}
	var texts []string
	for _, line := range lines {
		texts = append(texts, fmt.Sprintf("%-*s %s%s", width, line.name, line.value, line.more))
	}
	return texts
}

// goalOf a measure, to stand behind it; empty without one.
func goalOf(r *verdict.Report, measured, unit string) string {
	for _, o := range r.Objectives {
		if o.Measure == measured {
			return fmt.Sprintf(" (goal %g%s)", o.Max, unit)
		}
	}
	return ""
}
