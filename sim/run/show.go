package run

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/telling"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// show a verdict to people: violations, measures, and where the evidence is.
func show(out io.Writer, r *verdict.Report, folder string) {
	s := stylesFor(out)
	painted := s.bad
	if r.Verdict == verdict.Held {
		painted = s.good.Bold(true)
	}
	told := fmt.Sprintf("%.1fs on %s, %s", r.WallSeconds, r.Backend, r.Flags())
	fmt.Fprintf(out, "\n%s  %s  %s\n", painted.Render(string(r.Verdict)), r.Scenario, s.quiet.Render(told))
	for _, v := range r.Violations {
		fmt.Fprintf(out, "  %s\n", s.bad.Render(fmt.Sprintf("%s at %.1fs: %s", v.Oracle, v.At, v.Message)))
	}
	for _, reason := range r.Reasons {
		fmt.Fprintf(out, "  %s\n", reason)
	}
	if len(r.Promises) > 0 {
		fmt.Fprintf(out, "  judged by %s\n", strings.Join(r.Promises, ", "))
	}
	if measures := measureLines(r); len(measures) > 0 {
		fmt.Fprintf(out, "  %s\n", strings.Join(measures, "\n  "))
	}
	for _, f := range r.Faults {
		fmt.Fprintf(out, "  fault %s was felt %s\n", f.Name, telling.Times(f.Touched))
	}
	fmt.Fprintf(out, "  kept in %s; look at %s\n", folder, filepath.Join(folder, report.FileName))
}

func measureLines(r *verdict.Report) []string {
	var lines []string
	seconds := func(name string, value *float64) {
		if value != nil {
			lines = append(lines, fmt.Sprintf("%-24s %8.3f s", name, *value))
		}
	}
	m := r.Measures
	seconds("API downtime", m.APIDowntimeSeconds)
	seconds("longest outage", m.APILongestGapSeconds)
	if m.LostWrites != nil {
		lines = append(lines, fmt.Sprintf("%-24s %8d", "lost writes", *m.LostWrites))
	}
	if m.RestoresAtOnce != nil && *m.RestoresAtOnce > 1 {
		lines = append(lines, fmt.Sprintf("%-24s %8d", "restores at once", *m.RestoresAtOnce))
	}
	if v := m.Evacuation; v != nil && v.RequestsPerShoot != nil {
		lines = append(lines, fmt.Sprintf("%-24s %8.3f s for all %d: %.0f requests and %.1f s of processor time for each",
			"evacuation", v.Seconds, v.Shoots, *v.RequestsPerShoot, *v.CPUSecondsPerShoot))
	}
	seconds("RPO", m.RPOSeconds)
	seconds("RTO", m.RTOSeconds)
	if d := r.AtDefaults; d != nil {
		lines = append(lines, fmt.Sprintf("%-24s %8.3f s: %.3f s of work as measured, %g s of waits (grace period, ownership); clients may keep the old address up to %g s longer",
			"RTO at default settings", d.RTOSeconds, d.WorkSeconds, d.WaitSeconds, d.DNSSeconds))
		if d.RPOAtMostSeconds != nil {
			lines = append(lines, fmt.Sprintf("%-24s %8.3f s at most: what may be written between two incremental backups there", "RPO at default settings", *d.RPOAtMostSeconds))
		}
	}
	for _, phase := range slices.Sorted(maps.Keys(m.Phases)) {
		if !strings.Contains(phase, "apiDown") {
			value := m.Phases[phase]
			seconds("phase "+phase, &value)
		}
	}
	return lines
}
