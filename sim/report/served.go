package report

import (
	"fmt"
	"io"
	"time"

	"github.com/transplant-sim/transplant/sim/scenario"
)

// Served is what a report shows in addition when a server shows it.
type Served struct {
	// Back is the address of the list of runs.
	Back string
	// Follow is where the page asks for what is new: "?after=N" gives a More, "/changes" a stream of server-sent events
	// named "change". Empty when the run is over.
	Follow string
}

// RenderServed renders the report of a run for a server.
func RenderServed(out io.Writer, run *Run, s Served) error {
	p := pageOf(run)
	p.Back, p.Follow = s.Back, s.Follow
	if err := pages.ExecuteTemplate(out, "run.html", p); err != nil {
		return fmt.Errorf("render the report of %q: %w", run.Name, err)
	}
	return nil
}

// More is what is new of a run since an event.
type More struct {
	// Judged says that there is a verdict now: the page is to be read anew.
	Judged   bool       `json:"judged"`
	Verdict  string     `json:"verdict"`
	Headline string     `json:"headline"`
	Model    Model      `json:"model"`
	Lines    []MoreLine `json:"lines"`
}

// MoreLine is a line of the run, as the terminal shows it.
type MoreLine struct {
	At    string `json:"at"`
	Text  string `json:"text"`
	Tone  string `json:"tone"`
	Event int    `json:"event"`
}

// MoreOf a run since event number after.
func MoreOf(run *Run, after int) More {
	if run.Verdict != nil {
		return More{Judged: true, Lines: []MoreLine{}} // the page is read anew, and says it
	}
	m := More{Verdict: stateOf(run), Headline: headlineOf(run, nil), Model: ModelOf(run, after), Lines: []MoreLine{}}
	for _, l := range linesOf(run) {
		if l.Event > after {
			m.Lines = append(m.Lines, MoreLine(l))
		}
	}
	return m
}

// Summary of a run, for a list.
type Summary struct {
	Scenario, Verdict, Tone, Headline string
	Took                              string
	// RTO, Down and Lost are measures with their units; empty when not measured.
	RTO, Down, Lost string
}

// SummaryIn is that of the run in a folder. Of one with a verdict nothing else is read: a timeline may have hundreds of
// megabytes, and a list hundreds of runs.
func SummaryIn(folder string) (Summary, error) {
	judged, err := loadVerdict(folder)
	if err != nil {
		return Summary{}, err
	}
	if judged != nil {
		return summaryOf(&Run{Verdict: judged, Scenario: &scenario.Scenario{}}, judged.Scenario, seconds(judged.WallSeconds)),
			nil
	}
	run, err := Load(folder)
	if err != nil {
		return Summary{}, err
	}
	return summaryOf(run, run.Start.Scenario, run.length()), nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func summaryOf(run *Run, scenario string, took time.Duration) Summary {
	s := Summary{Scenario: scenario, Verdict: stateOf(run), Tone: "unclear",
		Took: took.Round(100 * time.Millisecond).String()}
	if run.Verdict == nil {
		s.Headline = headlineOf(run, nil)
		return s
	}
	s.Tone, s.Headline = verdictTone(run.Verdict.Verdict), headlineOf(run, byOracle(violationsOf(run)))
	for _, m := range measuresOf(run) {
		switch m.Name {
		case "RTO":
			s.RTO = m.Value + " s"
		case "API downtime":
			s.Down = m.Value + " s"
		case "lost writes":
			s.Lost = m.Value
		}
	}
	return s
}

// Index is the list of runs.
type Index struct {
	Folder string
	Runs   []IndexRow
}

// IndexRow is a run in the list.
type IndexRow struct {
	ID, Link                          string
	Scenario, Verdict, Tone, Headline string
	Took, RTO, Down, Lost, Changed    string
}

// Policy of the list's page.
func (Index) Policy() string { return policy(indexAssets, "/") }

// Assets of the list's page.
func (Index) Assets() assets { return indexAssets }

// RenderIndex renders the list of runs.
func RenderIndex(out io.Writer, index Index) error {
	if err := pages.ExecuteTemplate(out, "index.html", index); err != nil {
		return fmt.Errorf("render the list of runs: %w", err)
	}
	return nil
}
