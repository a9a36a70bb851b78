// Package report shows a run to people: one HTML page per run that needs nothing but itself, a page that compares
// runs, and what the browser needs to follow a run that goes on.
//
// It is a view of what lies in the run's folder (timeline.jsonl, verdict.json, scenario.yaml) and measures and judges
// nothing anew. A picture is made of rows; what is on them is computed here, and the page draws no more of it than
// there is room for, so that a run of many events is shown as fast as a short one.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// maxFile bounds the files of a run beside its timeline, in bytes; a verdict has a few hundred kilobytes at most.
const maxFile = 64 << 20

// Run is what lies in a run's folder.
type Run struct {
	// Name of the folder, for people.
	Name    string
	Started time.Time
	Events  []timeline.Event
	// Start of the run; its zero value as long as nothing is recorded.
	Start    timeline.RunStarted
	Scenario *scenario.Scenario
	// Text of the scenario: the file in the folder or, if there is none, as the timeline has it.
	Text string
	// Verdict of the run; nil as long as there is none.
	Verdict *verdict.Report
	// Ended says that the run is over.
	Ended bool

	goesOn bool
}

// Load reads a run. One that goes on has no verdict yet; its timeline may end in the middle of a line.
func Load(folder string) (*Run, error) {
	goesOn, err := timeline.GoesOn(folder) // asked first: what has ended by then has written its last
	if err != nil {
		return nil, err
	}
	record, err := timeline.ReadFile(filepath.Join(folder, timeline.FileName))
	if err != nil {
		return nil, err
	}
	run := &Run{Name: filepath.Base(folder), Started: record.Started, Events: record.Events,
		Scenario: &scenario.Scenario{}, goesOn: goesOn}
	_, start, begun := timeline.First[timeline.RunStarted](run.Events)
	if begun {
		run.Start = start
		if err := json.Unmarshal(start.Definition, run.Scenario); err != nil {
			return nil, fmt.Errorf("read the scenario in the timeline: %w", err)
		}
		for _, name := range start.Extensions {
			all := &run.Scenario.Spec.Landscape.Extensions
			*all = append(*all, landscape.Extension{Name: name})
		}
	}
	_, _, run.Ended = timeline.First[timeline.RunEnded](run.Events)
	if run.Verdict, err = loadVerdict(folder); err != nil {
		return nil, err
	}
	run.prove()
	run.Text, err = loadText(folder, run.Scenario)
	return run, err
}

func loadVerdict(folder string) (*verdict.Report, error) {
	content, err := userfile.Read(filepath.Join(folder, verdict.FileName), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the verdict: %w", err)
	}
	report := &verdict.Report{}
	if err := json.Unmarshal(content, report); err != nil {
		return nil, fmt.Errorf("read the verdict in %q: %w", folder, err)
	}
	return report, nil
}

// prove finds the events that prove the violations of a verdict that was written without them: those that the same
// violation has when the run is judged again.
func (r *Run) prove() {
	if r.Verdict == nil {
		return
	}
	type key struct{ oracle, message string }
	var again map[key][]int
	for i := range r.Verdict.Violations {
		v := &r.Verdict.Violations[i]
		if len(v.Events) > 0 {
			continue
		}
		if again == nil {
			again = map[key][]int{}
			if judged, err := verdict.Judge(r.Events); err == nil {
				for _, found := range judged.Violations {
					again[key{found.Oracle, found.Message}] = found.Events
				}
			}
		}
		v.Events = again[key{v.Oracle, v.Message}]
	}
}

func loadText(folder string, s *scenario.Scenario) (string, error) {
	content, err := userfile.Read(filepath.Join(folder, verdict.ScenarioName), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		content, err = scenario.Print(s)
	}
	if err != nil {
		return "", fmt.Errorf("read the scenario: %w", err)
	}
	return string(content), nil
}

// Live says that the process of the run was there when it was read, and had no verdict yet.
func (r *Run) Live() bool { return r.Verdict == nil && r.goesOn }

// length of the run, as far as it has come.
func (r *Run) length() time.Duration {
	if len(r.Events) == 0 {
		return 0
	}
	return r.Events[len(r.Events)-1].At
}

// event with a number.
func (r *Run) event(seq int) (timeline.Event, bool) {
	if seq < 1 || seq > len(r.Events) {
		return timeline.Event{}, false
	}
	return r.Events[seq-1], true
}
