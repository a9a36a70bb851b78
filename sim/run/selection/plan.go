package selection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// planFile of a shard lies beside the folders of its runs.
const planFile = "shard.json"

// Plan is what one shard was to run, so that what it has not run is missed.
type Plan struct {
	Part int      `json:"part"`
	Of   int      `json:"of"`
	Runs []string `json:"runs"` // names of scenarios
	// Started is before all of its runs: evidence that began earlier in the same folders is that of another command.
	Started time.Time `json:"started,omitzero"`
}

// Note in a folder what the shard is going to run from now on. All of the scenarios are no shard: what an earlier shard
// has noted there is removed.
func (s *Shard) Note(folder string, runs []string, now time.Time) error {
	file := filepath.Join(folder, planFile)
	if s.of == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what an earlier shard has noted: %w", err)
		}
		return nil
	}
	content, err := json.Marshal(Plan{Part: s.part, Of: s.of, Runs: runs, Started: now.UTC()})
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, append(content, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("note what --shard %s runs: %w", s, err)
	}
	return nil
}

// Evidence is where the runs of a shard in a folder are, if they are there: one run may be in the folder itself.
func (p *Plan) Evidence(folder string) (runs []string) {
	for _, name := range p.Runs {
		runs = append(runs, filepath.Join(folder, name))
	}
	if len(runs) == 1 {
		runs = append(runs, folder)
	}
	return runs
}

// PlanIn a folder of a shard; nil if it is none.
func PlanIn(folder string) (*Plan, error) {
	file := filepath.Join(folder, planFile)
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	plan := &Plan{}
	if err == nil {
		err = json.Unmarshal(content, plan)
	}
	if err != nil {
		return nil, fmt.Errorf("read what a shard was to run, %s: %w", file, err)
	}
	return plan, nil
}
