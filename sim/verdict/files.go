package verdict

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"al.essio.dev/pkg/shellescape"

	"github.com/transplant-sim/transplant/sim/durable"
	"github.com/transplant-sim/transplant/sim/junit"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Names of the files in a run's folder, beside the timeline.
const (
	FileName  = "verdict.json"
	JUnitName = junit.FileName
	// ScenarioName is the file with the scenario, to run it again.
	ScenarioName = "scenario.yaml"
	// LogsName is the folder with the logs of actors, third-party extensions and clusters.
	LogsName = "logs"
)

// Again is the command that runs the scenario in a run's folder again, quoted for a shell.
func (r *Report) Again(folder string) string {
	return shellescape.QuoteCommand([]string{"transplant", "run", filepath.Join(folder, ScenarioName), "--backend",
		r.Backend}) + " " + r.Flags()
}

// Flags are those that repeat the run on its backend, quoted for a shell.
func (r *Report) Flags() string {
	flags := []string{"--seed", fmt.Sprint(r.RandomSeed)}
	if r.TimeoutMultiplier != 0 {
		flags = append(flags, "--timeout-multiplier", fmt.Sprint(r.TimeoutMultiplier))
	}
	if r.Unwatched {
		flags = append(flags, "--unwatched")
	}
	flags = append(flags, r.BackendFlags...)
	for _, file := range r.ExtensionFiles {
		flags = append(flags, "--extension", file)
	}
	return shellescape.QuoteCommand(flags)
}

// JudgeFolder judges the run in a folder. A timeline whose last line is torn is judged by what is there.
func JudgeFolder(folder string) (*Report, []timeline.Event, error) {
	record, err := timeline.ReadFile(filepath.Join(folder, timeline.FileName))
	if err != nil {
		return nil, nil, err
	}
	report, err := Judge(record.Events)
	if err != nil {
		return nil, nil, err
	}
	report.Started = record.Started
	return report, record.Events, nil
}

// Write the verdict, as JSON and as JUnit, into a run's folder.
func Write(folder string, report *Report, events []timeline.Event) error {
	content, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("marshal the verdict: %w", err)
	}
	cases, err := SuiteOf(folder, report, events).Marshal()
	if err != nil {
		return err
	}
	return durable.Disk{}.Write(folder, durable.Bytes(FileName, append(content, '\n')),
		durable.Bytes(JUnitName, cases))
}
