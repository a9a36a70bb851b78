package contract

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report is what was found about an extension.
type Report struct {
	Extension string       `json:"extension"`
	Kinds     []KindReport `json:"kinds"`
}

// KindReport is what was found about one of its kinds.
type KindReport struct {
	Kind string `json:"kind"`
	Type string `json:"type"`
	// Reason says why the kind was not tried at all; empty if it was.
	Reason   string             `json:"reason,omitempty"`
	Findings map[string]Finding `json:"findings,omitempty"` // by clause
}

// Name is kind and type.
func (k KindReport) Name() string { return k.Kind + "/" + k.Type }

// Judge finds what the record says about each of the clauses.
func Judge(e *Evidence, clauses []Clause) KindReport {
	report := KindReport{Kind: e.Kind, Type: e.Type, Findings: map[string]Finding{}}
	for _, c := range clauses {
		if judge := judges[c.ID]; judge != nil {
			report.Findings[c.ID] = judge(e)
		} else {
			report.Findings[c.ID] = Finding{NotJudged, c.How}
		}
	}
	return report
}

// Counts of outcomes over all kinds.
func (r Report) Counts() map[Outcome]int {
	counts := map[Outcome]int{}
	for _, kind := range r.Kinds {
		for _, f := range kind.Findings {
			counts[f.Outcome]++
		}
		if kind.Reason != "" {
			counts[Unknown]++
		}
	}
	return counts
}

// Outcome of all: NonConformant if any clause is, Unknown if something that applies was not seen, else Conformant.
func (r Report) Outcome() Outcome {
	switch counts := r.Counts(); {
	case counts[NonConformant] > 0:
		return NonConformant
	case counts[Unknown] > 0 || counts[Conformant] == 0:
		return Unknown
	}
	return Conformant
}

// cells of the table.
var cells = map[Outcome]string{Conformant: "ok", NonConformant: "NOT", Unknown: "?", NotApplicable: "-"}

// Write writes a table of clauses and kinds, and what is to be said about what is not Conformant. Clauses that are not
// judged are named in one line.
func (r Report) Write(to io.Writer, clauses []Clause) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "clause")
	for _, kind := range r.Kinds {
		fmt.Fprint(table, "\t", kind.Name())
	}
	fmt.Fprint(table, "\t\n")
	var unjudged []string
	for _, c := range clauses {
		if !c.IsJudged() {
			unjudged = append(unjudged, c.ID)
			continue
		}
		fmt.Fprint(table, c.ID)
		for _, kind := range r.Kinds {
			cell := cells[kind.Findings[c.ID].Outcome]
			if kind.Reason != "" {
				cell = "?"
			}
			fmt.Fprint(table, "\t", cell)
		}
		fmt.Fprintf(table, "\t%s\n", c.Text)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	r.writeReasons(to, clauses)
	if len(unjudged) > 0 {
		fmt.Fprintf(to, "\nnot judged by this version (transplant contract explain ID says why): %s\n",
			strings.Join(unjudged, " "))
	}
	counts := r.Counts()
	fmt.Fprintf(to, "\n%s  %s  %d ok, %d not, %d unknown, %d do not apply\n", r.Outcome(), r.Extension, counts[Conformant],
		counts[NonConformant], counts[Unknown], counts[NotApplicable])
	return nil
}

// writeReasons names the worst first.
func (r Report) writeReasons(to io.Writer, clauses []Clause) {
	for _, outcome := range []Outcome{NonConformant, Unknown, NotApplicable} {
		same := map[string][]string{} // clauses, by kind and reason
		var order []string
		for _, kind := range r.Kinds {
			if outcome == Unknown && kind.Reason != "" {
				fmt.Fprintf(to, "\n?    %s: %s\n", kind.Name(), kind.Reason)
			}
			for _, c := range clauses {
				if f := kind.Findings[c.ID]; f.Outcome == outcome {
					key := kind.Name() + ": " + f.Reason
					if !slices.Contains(order, key) {
						order = append(order, key)
					}
					same[key] = append(same[key], c.ID)
				}
			}
		}
		if len(order) > 0 {
			fmt.Fprintln(to)
		}
		for _, key := range order {
			fmt.Fprintf(to, "%-4s %s %s\n", cells[outcome], strings.Join(same[key], " "), key)
		}
	}
}

// Explain writes what a clause is.
func (c Clause) Explain(to io.Writer) {
	fmt.Fprintf(to, "%s  %s\n\nwritten in   %s\njudged by    %s\n", c.ID, c.Text, c.Reference(), c.How)
	if c.Incident != "" {
		fmt.Fprintf(to, "incident     %s\n", c.Incident)
	}
}
