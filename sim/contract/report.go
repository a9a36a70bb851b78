package contract

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// ReportName is the name of the file of a report, for programs.
const ReportName = "report.json"

// Report is what was found about an extension, and how.
type Report struct {
	Extension string `json:"extension"`
	// File of the extension, as it was given.
	File string `json:"file"`
	// Programs that were tried.
	Programs []Program `json:"programs,omitempty"`
	// Version of the kit.
	Version string `json:"version"`
	// Started and Seconds are of the whole run.
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	// Multiplier of all waits.
	Multiplier int `json:"timeoutMultiplier"`
	// Backend of the seeds; empty for the one that the kit takes without a flag.
	Backend string `json:"backend,omitempty"`
	// NodeImage of the seeds on kind; empty for the one that kind itself takes.
	NodeImage string `json:"nodeImage,omitempty"`
	// Reconciles are all kinds of the extension, each with its type; those that flags leave out are not in Kinds.
	Reconciles []string `json:"reconciles"`
	// Clauses are the ids of those that flags have not left out.
	Clauses []string     `json:"clauses"`
	Kinds   []KindReport `json:"kinds"`
	// Outdated are expected failures that were judged and did not fail.
	Outdated []ExpectedFailure `json:"outdated,omitempty"`
}

// Program of an extension.
type Program struct {
	Name string `json:"name"` // of the file, or of the image
	// SHA256 is its digest, in hexadecimal digits. That of an image is its ID.
	SHA256 string `json:"sha256"`
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

// ofSeeds are the clauses about objects that belong to a seed, too.
var ofSeeds = []string{"A4", "A6", "A8", "B17", "C2", "E1"}

// Judge finds what the record says about each of the clauses.
func Judge(e *Evidence, clauses []Clause) KindReport {
	report := KindReport{Kind: e.Kind, Type: e.Type, Findings: map[string]Finding{}}
	for _, c := range clauses {
		if judge := judges[c.ID]; judge != nil && e.Stays && !slices.Contains(ofSeeds, c.ID) {
			report.Findings[c.ID] = noMatter("objects of the kind belong to a seed, and are not migrated")
		} else if judge != nil {
			report.Findings[c.ID] = judge(e)
		} else {
			report.Findings[c.ID] = Finding{Outcome: NotJudged, Reason: c.How}
		}
		f := report.Findings[c.ID]
		f.Aside = c.Aside
		report.Findings[c.ID] = f
	}
	return report
}

// Shown is the outcome, but for what is known to be broken.
func (f Finding) Shown() Outcome {
	switch {
	case f.Aside != "" && f.Outcome == NonConformant:
		return Noted
	case f.Expected != "":
		return Expected
	}
	return f.Outcome
}

// Counts of outcomes over all kinds. What is known to be broken counts as Expected; if something of the clause is open
// besides, as Unknown, too. Clauses that are aside do not count.
func (r Report) Counts() map[Outcome]int {
	counts := map[Outcome]int{}
	for _, kind := range r.Kinds {
		for _, f := range kind.Findings {
			if f.Aside != "" {
				continue
			}
			counts[f.Shown()]++
			if f.Expected != "" && f.Open != "" {
				counts[Unknown]++
			}
		}
		if kind.Reason != "" {
			counts[Unknown]++
		}
	}
	return counts
}

// Outcome of all: NonConformant if any clause is and was not expected to be, Unknown if something that applies was not
// seen, Expected if only what is known to be broken is, else Conformant.
func (r Report) Outcome() Outcome {
	switch counts := r.Counts(); {
	case counts[NonConformant] > 0:
		return NonConformant
	case counts[Unknown] > 0 || counts[Conformant]+counts[Expected] == 0:
		return Unknown
	case counts[Expected] > 0:
		return Expected
	}
	return Conformant
}

// ExitCode is what the command ends with if it had no error (docs/contract-kit.md#what-it-finds).
func (r Report) ExitCode() int {
	switch outcome := r.Outcome(); {
	case outcome == NonConformant || len(r.Outdated) > 0:
		return 1
	case outcome == Unknown:
		return 3
	}
	return 0
}

// Cell is what a table shows of the finding.
func (f Finding) Cell() string { return cells[f.Shown()] }

var cells = map[Outcome]string{Conformant: "ok", NonConformant: "NOT", Expected: "known", Unknown: "?",
	NotApplicable: "-", Noted: "note"}

// Write writes a table of clauses and kinds, and what is to be said about what is not Conformant. Clauses that are not
// judged are named in one line.
func (r Report) Write(to io.Writer, clauses []Clause) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "clause")
	for _, kind := range r.Kinds {
		fmt.Fprint(table, "\t", kind.Name())
	}
	fmt.Fprint(table, "\t\n")
	var unjudged, aside []string
	for _, c := range clauses {
		if !c.IsJudged() {
			unjudged = append(unjudged, c.ID)
			continue
		}
		if c.Aside != "" {
			aside = append(aside, fmt.Sprintf("%s (%s)", c.ID, c.Aside))
		}
		fmt.Fprint(table, c.ID)
		for _, kind := range r.Kinds {
			cell := kind.Findings[c.ID].Cell()
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
	if len(aside) > 0 {
		fmt.Fprintf(to, "\ncount for no result: %s\n", strings.Join(aside, ", "))
	}
	counts := r.Counts()
	fmt.Fprintf(to, "\n%s  %s  %d ok, %d not, %d known, %d unknown, %d do not apply\n", r.Outcome(), r.Extension,
		counts[Conformant], counts[NonConformant], counts[Expected], counts[Unknown], counts[NotApplicable])
	for _, x := range r.Outdated {
		fmt.Fprintln(to, x.Remedy())
	}
	return nil
}

// writeReasons names the worst first.
func (r Report) writeReasons(to io.Writer, clauses []Clause) {
	for _, outcome := range []Outcome{NonConformant, Expected, Noted, Unknown, NotApplicable} {
		same := map[string][]string{} // clauses, by kind and reason
		var order []string
		for _, kind := range r.Kinds {
			if outcome == Unknown && kind.Reason != "" {
				fmt.Fprintf(to, "\n?     %s: %s\n", kind.Name(), kind.Reason)
			}
			for _, c := range clauses {
				if f := kind.Findings[c.ID]; f.Shown() == outcome {
					key := kind.Name() + ": " + f.Reason
					if f.Expected != "" {
						key += " (expected: " + f.Expected + ")"
					}
					if f.Open != "" {
						key += " (unknown: " + f.Open + ")"
					}
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
			fmt.Fprintf(to, "%-5s %s %s\n", cells[outcome], strings.Join(same[key], " "), key)
		}
	}
}

// Explain writes what a clause is.
func (c Clause) Explain(to io.Writer) {
	fmt.Fprintf(to, "%s  %s\n\nwritten in   %s\nprofile      %s\njudged by    %s\n", c.ID, c.Text, c.Reference(),
		c.Profile, c.How)
	if c.Incident != "" {
		fmt.Fprintf(to, "incident     %s\n", c.Incident)
	}
}
