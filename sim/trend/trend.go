// Package trend keeps the numbers of runs in a file that grows by a line a run, and says whether the newest run of a
// scenario got worse than those before it. It measures nothing: the numbers are those of the verdicts.
package trend

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// Record is one run: a line of the file.
type Record struct {
	// Time when the run was judged.
	Time       time.Time       `json:"time"`
	Scenario   string          `json:"scenario"`
	Backend    string          `json:"backend"`
	Verdict    verdict.Verdict `json:"verdict"`
	RandomSeed uint64          `json:"randomSeed"`
	// WallSeconds is how long the run took, start of its landscape included.
	WallSeconds float64 `json:"wallSeconds"`
	// Measures that apply, by the names of their fields in verdict.json.
	Measures map[string]float64 `json:"measures,omitempty"`
	// Phases in seconds, as in verdict.json.
	Phases map[string]float64 `json:"phases,omitempty"`
}

// Of makes the record of a run.
func Of(r *verdict.Report, at time.Time) Record {
	record := Record{
		Time: at.UTC().Truncate(time.Millisecond), Scenario: r.Scenario, Backend: r.Backend, Verdict: r.Verdict,
		RandomSeed:  r.RandomSeed,
		WallSeconds: r.WallSeconds, Measures: map[string]float64{}, Phases: r.Measures.Phases,
	}
	for name, value := range r.Measures.Numbers() {
		record.Measures[name] = value
	}
	return record
}

// Append a record to a file, which is made if there is none. Several may append at once.
func Append(file string, record Record) error {
	line, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("marshal the record of %q: %w", record.Scenario, err)
	}
	f, err := userfile.Append(file)
	if err != nil {
		return fmt.Errorf("open the history: %w", err)
	}
	_, err = f.Write(append(line, '\n')) // one write, so that lines of others are not torn
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("append to the history: %w", err)
	}
	return nil
}

// mostLine bounds a line; a record has a few hundred bytes.
const mostLine = 1 << 20

// Read the records of a history, oldest first. name stands in errors, which name the line and what is wrong with it.
func Read(in io.Reader, name string) ([]Record, error) {
	var records []Record
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, mostLine)
	for number := 1; lines.Scan(); number++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var record Record
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			return nil, fmt.Errorf(
				"%s:%d: %w; each line must be a record that run --history has written: remove it, or name another file", name,
				number, err)
		}
		if record.Scenario == "" || record.Verdict == "" {
			return nil, fmt.Errorf(
				"%s:%d: scenario and verdict must be set; each line must be a record that run --history has written: remove it, "+
					"or name another file", name, number)
		}
		records = append(records, record)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return records, nil
}
