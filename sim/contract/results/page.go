package results

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/contract"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New(PageName).Parse(pageText))

// page is what the template shows.
type page struct {
	Style     template.CSS
	Report    contract.Report
	Published Published
	Outcome   contract.Outcome
	Tone      string
	Counts    string
	Started   string
	Took      string
	Rows      []row
	Sections  []section
}

// row of the table.
type row struct {
	Clause contract.Clause
	Cells  []cell
}

type cell struct{ Text, Tone, Title, Link string }

// section has the findings of an outcome.
type section struct {
	Title    string
	Tone     string
	Findings []finding
}

type finding struct {
	ID, Kind, Command string
	Clause            contract.Clause
	contract.Finding
	Crashes []string // that break the clause
}

// tones of outcomes, as in the style of reports of runs.
var tones = map[contract.Outcome]string{contract.Conformant: "good", contract.NonConformant: "bad",
	contract.Expected: "lost", contract.Unknown: "unclear", contract.NotApplicable: "plain",
	contract.Noted: "lost"}

// pageOf is a page that needs nothing but itself.
func pageOf(r contract.Report, p Published, style template.CSS) ([]byte, error) {
	counts := r.Counts()
	shown := page{Style: style, Report: r, Published: p, Outcome: r.Outcome(), Tone: tones[r.Outcome()],
		Counts: fmt.Sprintf("%d Conformant, %d NonConformant, %d known, %d Unknown, %d do not apply",
			counts[contract.Conformant], counts[contract.NonConformant], counts[contract.Expected], counts[contract.Unknown],
			counts[contract.NotApplicable]),
		Started: r.Started.UTC().Format("2006-01-02 15:04 UTC"),
		Took:    time.Duration(r.Seconds * float64(time.Second)).Round(time.Second).String()}
	sections := map[contract.Outcome]*section{
		contract.NonConformant: {Title: "What breaks the contract"}, contract.Expected: {Title: "What is known to break it"},
		contract.Unknown: {Title: "What the record does not show"},
		contract.Noted:   {Title: "What is noted, and counts for no result"},
	}
	for _, id := range r.Clauses {
		clause, known := contract.ClauseByID(id)
		if !known || !clause.IsJudged() {
			continue
		}
		line := row{Clause: clause}
		for _, kind := range r.Kinds {
			f := kind.Findings[id]
			if kind.Reason != "" {
				f = contract.Finding{Outcome: contract.Unknown, Reason: kind.Reason}
			}
			c := cell{Text: f.Cell(), Tone: tones[f.Shown()], Title: f.Reason}
			if s := sections[f.Shown()]; s != nil && kind.Reason == "" {
				at := strings.ReplaceAll(id+"-"+kind.Name(), "/", "-")
				c.Link = "#" + at
				s.Findings = append(s.Findings, finding{ID: at, Kind: kind.Name(), Command: again(r, kind, id), Clause: clause,
					Finding: f, Crashes: broken(f)})
			}
			line.Cells = append(line.Cells, c)
		}
		shown.Rows = append(shown.Rows, line)
	}
	for _, outcome := range []contract.Outcome{contract.NonConformant, contract.Expected, contract.Noted,
		contract.Unknown} {
		if s := sections[outcome]; len(s.Findings) > 0 {
			s.Tone = tones[outcome]
			shown.Sections = append(shown.Sections, *s)
		}
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, shown); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
