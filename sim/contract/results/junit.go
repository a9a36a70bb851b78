package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/junit"
)

// suiteOf makes a test case of each clause that is judged, for each kind. Clauses are judged together, by one record: a
// case has an equal share of the time, so that the times of all add up to that of the run.
func suiteOf(r contract.Report) junit.Suite {
	s := junit.Suite{Name: r.Extension, Timestamp: junit.Moment(r.Started),
		Properties: []junit.Property{{Name: "outcome", Value: string(r.Outcome())}, {Name: "version", Value: r.Version}}}
	for _, kind := range r.Kinds {
		for _, id := range r.Clauses {
			clause, known := contract.ClauseByID(id)
			if !known || !clause.IsJudged() {
				continue
			}
			s.Cases = append(s.Cases, caseOf(r, kind, clause))
		}
	}
	all := int(math.Round(r.Seconds * float64(time.Second/time.Millisecond)))
	for i := range s.Cases {
		share := all * (i + 1) / len(s.Cases) // of the time, in milliseconds, until the end of this case
		s.Cases[i].Time = float64(share-all*i/len(s.Cases)) / 1000
	}
	s.Time = float64(all) / 1000
	return s
}

func caseOf(r contract.Report, kind contract.KindReport, clause contract.Clause) junit.Case {
	c := junit.Case{Class: kind.Name(), Name: clause.ID}
	f := kind.Findings[clause.ID]
	switch {
	case kind.Reason != "":
		c.Skipped = junit.Because(kind.Reason)
	case f.Shown() == contract.Noted:
		c.Skipped = junit.Because(fmt.Sprintf("counts for no result (%s): %s", f.Aside, f.Reason))
	case f.Expected != "":
		c.Skipped = junit.Because(strings.TrimSpace("expected failure: " + f.Expected + "\n" + f.Reason + "\n" + f.Open))
	case f.Outcome == contract.NonConformant:
		c.Failure = junit.Because(FailureText(r, kind, clause))
	case f.Outcome == contract.Unknown:
		c.Skipped = junit.Because("unknown: " + f.Reason)
	case f.Outcome == contract.NotApplicable:
		c.Skipped = junit.Because("does not apply: " + f.Reason)
	}
	for _, x := range r.Outdated {
		if x.Clause == clause.ID && x.Covers(kind.Name()) && kind.Reason == "" && c.Failure == nil {
			c.Failure, c.Skipped = junit.Because(x.Remedy()), nil
		}
	}
	return c
}

// FailureText says line by line what breaks a clause: what was found, the sentence, and the command that shows it
// again.
func FailureText(r contract.Report, kind contract.KindReport, clause contract.Clause) string {
	f := kind.Findings[clause.ID]
	lines := []string{f.Reason, "", fmt.Sprintf("%s %s", clause.ID, clause.Text), "written in " + clause.Reference()}
	if clause.Incident != "" {
		lines = append(lines, "incident: "+clause.Incident)
	}
	for _, point := range broken(f) {
		if point != f.Reason {
			lines = append(lines, "also "+point)
		}
	}
	return strings.Join(append(lines, "shown again by: "+again(r, kind, clause.ID)), "\n")
}

// broken says what was found at each crash point that breaks the clause, but for those that are expected.
func broken(f contract.Finding) (found []string) {
	for _, p := range f.Points {
		if p.Outcome == contract.NonConformant && (p.Expected == "" || f.Expected != "") {
			found = append(found, p.Reason)
		}
	}
	return slices.Compact(found)
}
