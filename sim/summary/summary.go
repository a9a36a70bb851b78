// Package summary tells runs in a page of Markdown, fit for the summary of a CI job. It shows verdicts, and judges
// nothing.
package summary

import (
	"fmt"
	"io"
	"strings"

	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/wording"
)

// Story is one that was to be told.
type Run struct {
	Name string
	// Folder of its evidence.
	Folder string
	// Report is its verdict; nil when it could not be judged, for the reason in Err.
	Report *verdict.Report
	Err    error
}

// Verdict of the story.
func (s Run) Verdict() verdict.Verdict {
	if s.Report == nil {
		return verdict.Error
	}
	return s.Report.Verdict
}

// Why is the verdict, and the first of what speaks for it: what was violated, or why it is Error or
// Inconclusive.
func (s Run) Why() string {
	text := string(s.Verdict())
	switch {
	case s.Report == nil && s.Err != nil:
		text += ": " + s.Err.Error()
	case s.Report == nil:
	case len(s.Report.Violations) > 0:
		text += fmt.Sprintf(": %s: %s", s.Report.Violations[0].Oracle, s.Report.Violations[0].Message)
	case len(s.Report.Reasons) > 0:
		first, _, _ := strings.Cut(s.Report.Reasons[0], "\n") // what follows is the end of a log, or another reason
		text += ": " + first
	}
	return text
}

// Write the summary of stories, in their order, and of what was wrong with the landscapes between them.
func Write(out io.Writer, stories []Run, troubles []string) error {
	var b strings.Builder
	counts := map[verdict.Verdict]int{}
	worst := verdict.Passed
	if len(troubles) > 0 {
		worst = verdict.Error
	}
	for _, s := range stories {
		counts[s.Verdict()]++
		worst = verdict.Worst(worst, s.Verdict())
	}
	fmt.Fprintf(&b, "## %s: %s\n\n", worst, tally(counts, len(stories)))
	b.WriteString("| scenario | verdict | RTO | RPO | lost writes | API downtime | took |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, s := range stories {
		b.WriteString(rowOf(s))
	}
	for _, s := range stories {
		if s.Verdict() != verdict.Passed {
			b.WriteString(detailsOf(s))
		}
	}
	if len(troubles) > 0 {
		b.WriteString("\n### Between the stories\n\n")
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

func rowOf(s Run) string {
	shown := string(s.Verdict())
	if s.Verdict() != verdict.Passed {
		shown = "**" + shown + "**"
	}
	if s.Report == nil {
		return fmt.Sprintf("| %s | %s | | | | | |\n", escape(s.Name), shown)
	}
	m := s.Report.Measures
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %.0f s |\n", escape(s.Name), shown,
		s.cell("rto", m.RTOSeconds, "%.1f s"), s.cell("rpo", m.RPOSeconds, "%.1f s"),
		s.cell("lostWrites", number(m.LostWrites), "%.0f"),
		s.cell("apiDowntime", m.APIDowntimeSeconds, "%.1f s"), s.Report.WallSeconds)
}

// cell shows a measure, and its goal where there is one.
func (s Run) cell(name string, value *float64, form string) string {
	if value == nil {
		return ""
	}
	text := fmt.Sprintf(form, *value)
	for _, o := range s.Report.Objectives {
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

// mostLines bounds what is said of one story; the whole is in its folder.
const mostLines = 20

func detailsOf(s Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s\n\n", escape(s.Name), s.Verdict())
	var lines []string
	if s.Report == nil {
		lines = append(lines, escape(s.Err.Error()))
	} else {
		for _, v := range s.Report.Violations {
			lines = append(lines, fmt.Sprintf("**%s** at %.1f s: %s", escape(v.Oracle), v.At, escape(v.Message)))
		}
		for _, reason := range s.Report.Reasons {
			lines = append(lines, escape(reason))
		}
	}
	for _, line := range lines[:min(len(lines), mostLines)] {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if more := len(lines) - mostLines; more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	if s.Report == nil {
		return b.String()
	}
	for _, f := range s.Report.Faults {
		fmt.Fprintf(&b, "- the fault %s was felt %s\n", escape(f.Name), wording.Times(f.Hits))
	}
	fmt.Fprintf(&b, "\nThe evidence is in `%s`. The same again: `%s`\n", s.Folder, s.Report.Again(s.Folder))
	return b.String()
}

// escape text for Markdown, on one line.
func escape(text string) string {
	return strings.NewReplacer("\r", "", "\n", " ", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<",
		"&lt;", "|", `\|`, "#", `\#`).Replace(text)
}
