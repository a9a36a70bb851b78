// Package summary shows runs in a page of Markdown, for the summary of a CI job. It shows verdicts, and judges nothing.
package summary

import (
	"fmt"
	"io"
	"strings"

	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/wording"
)

// Run is one that ended, failed to begin, or never started.
type Run struct {
	Name string
	// Folder of its evidence.
	Folder string
	// Report is its verdict; nil when it could not be judged, for the reason in Err.
	Report *verdict.Report
	Err    error
}

// Verdict of the run.
func (r Run) Verdict() verdict.Verdict {
	if r.Report == nil {
		return verdict.Error
	}
	return r.Report.Verdict
}

// Why is the verdict, and the first reason for it: a violation, or why it is Error or Inconclusive.
func (r Run) Why() string {
	text := string(r.Verdict())
	switch {
	case r.Report == nil && r.Err != nil:
		text += ": " + r.Err.Error()
	case r.Report == nil:
	case len(r.Report.Violations) > 0:
		text += fmt.Sprintf(": %s: %s", r.Report.Violations[0].Oracle, r.Report.Violations[0].Message)
	case len(r.Report.Reasons) > 0:
		first, _, _ := strings.Cut(r.Report.Reasons[0], "\n") // what follows is the end of a log, or another reason
		text += ": " + first
	}
	return text
}

// Write the summary of runs, in their order, and of what was wrong with the landscapes between them.
func Write(out io.Writer, runs []Run, troubles []string) error {
	var b strings.Builder
	counts := map[verdict.Verdict]int{}
	worst := verdict.Passed
	if len(troubles) > 0 {
		worst = verdict.Error
	}
	for _, r := range runs {
		counts[r.Verdict()]++
		worst = verdict.Worst(worst, r.Verdict())
	}
	fmt.Fprintf(&b, "## %s: %s\n\n", worst, tally(counts, len(runs)))
	b.WriteString("| scenario | verdict | RTO | RPO | lost writes | API downtime | took |\n" +
		"|---|---|--:|--:|--:|--:|--:|\n")
	for _, r := range runs {
		b.WriteString(rowOf(r))
	}
	for _, r := range runs {
		if r.Verdict() != verdict.Passed {
			b.WriteString(detailsOf(r))
		}
	}
	if len(troubles) > 0 {
		b.WriteString("\n### Between the runs\n\n")
		for _, t := range troubles {
			fmt.Fprintf(&b, "- %s\n", escape(t))
		}
	}
	b.WriteByte('\n')
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

func tally(counts map[verdict.Verdict]int, all int) string {
	parts := []string{}
	for _, v := range []verdict.Verdict{verdict.Passed, verdict.Failed, verdict.Error, verdict.Inconclusive} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	noun := "scenarios"
	if all == 1 {
		noun = "scenario"
	}
	return fmt.Sprintf("%d %s, %s", all, noun, strings.Join(parts, ", "))
}

func rowOf(r Run) string {
	shown := string(r.Verdict())
	if r.Verdict() != verdict.Passed {
		shown = "**" + shown + "**"
	}
	if r.Report == nil {
		return fmt.Sprintf("| %s | %s | | | | | |\n", escape(r.Name), shown)
	}
	m := r.Report.Measures
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %.0f s |\n", escape(r.Name), shown,
		r.cell("rto", m.RTOSeconds, "%.1f s"), r.cell("rpo", m.RPOSeconds, "%.1f s"),
		r.cell("lostWrites", number(m.LostWrites), "%.0f"),
		r.cell("apiDowntime", m.APIDowntimeSeconds, "%.1f s"), r.Report.WallSeconds)
}

// cell shows a measure, and its goal where there is one.
func (r Run) cell(name string, value *float64, form string) string {
	if value == nil {
		return ""
	}
	text := fmt.Sprintf(form, *value)
	for _, o := range r.Report.Objectives {
		if o.Measure == name {
			text += fmt.Sprintf(" (at most %g)", o.Max)
		}
		if o.Measure == name && o.Missed() {
			text = "**" + text + "**"
		}
	}
	return text
}

func number(count *int) *float64 {
	if count == nil {
		return nil
	}
	return new(float64(*count))
}

// mostLines bounds what is said of one run; the whole is in its folder.
const mostLines = 20

func detailsOf(r Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s\n\n", escape(r.Name), r.Verdict())
	var lines []string
	if r.Report == nil {
		lines = append(lines, escape(r.Err.Error()))
	} else {
		for _, v := range r.Report.Violations {
			lines = append(lines, fmt.Sprintf("**%s** at %.1f s: %s", escape(v.Oracle), v.At, escape(v.Message)))
		}
		for _, reason := range r.Report.Reasons {
			lines = append(lines, escape(reason))
		}
	}
	for _, line := range lines[:min(len(lines), mostLines)] {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if more := len(lines) - mostLines; more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	if r.Report == nil {
		return b.String()
	}
	for _, f := range r.Report.Faults {
		fmt.Fprintf(&b, "- the fault %s hit %s\n", escape(f.Name), wording.Times(f.Hits))
	}
	fmt.Fprintf(&b, "\nThe evidence is in `%s`. The same again: `%s`\n", r.Folder, r.Report.Again(r.Folder))
	return b.String()
}

// escape text for Markdown, on one line.
func escape(text string) string {
	return strings.NewReplacer("\r", "", "\n", " ", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<",
		"&lt;", "|", `\|`, "#", `\#`).Replace(text)
}
