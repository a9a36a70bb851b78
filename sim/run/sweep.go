package run

import (
	"errors"
	"fmt"
	"strings"

	"github.com/transplant-sim/transplant/sim/durable"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/summary"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// sweep is the points of one scenario that are run.
type sweep struct {
	name   string
	all    int
	points []*scenario.Scenario
}

// expand returns the scenarios of all files: one for each point of a sweep, or a sample of them. from has the file of
// each scenario that was read, by name.
func (r *runner) expand(files []*scenario.Scenario, from map[string]string) (scenarios []*scenario.Scenario,
	sweeps []sweep, err error) {
	if r.sample < 0 {
		return nil, nil, fmt.Errorf("--sample %d: must be the number of points of each sweep, or 0 for all", r.sample)
	}
	var errs []error
	fileOf := map[string]string{}
	for _, file := range files {
		points, err := file.Expand()
		if err != nil {
			return nil, nil, err
		}
		errs = append(errs, claim(fileOf, points, from[file.Metadata.Name]))
		if len(file.Spec.Sweep) > 0 {
			s := sweep{name: file.Metadata.Name, all: len(points)}
			points = scenario.Sample(points, r.sample, r.randomSeed, s.name)
			s.points = points
			sweeps = append(sweeps, s)
		}
		scenarios = append(scenarios, points...)
	}
	return scenarios, sweeps, errors.Join(errs...)
}

// claim the names of a file's runs, each of which is a folder of evidence: all points of a sweep, so that the sample
// does not decide whether files go together. fileOf has the file of every name that is taken.
func claim(fileOf map[string]string, points []*scenario.Scenario, file string) error {
	for _, point := range points {
		name := point.Metadata.Name
		if other, taken := fileOf[name]; taken {
			return scenario.MistakeIn(file, "metadata.name",
				fmt.Sprintf("%s has a run %q, too, and its evidence would be overwritten; each needs its own name", other, name))
		}
		fileOf[name] = file
	}
	return nil
}

// count says how many of the points have passed, which have not, and why. If a crash did not hit, its write may never
// have come: then the sweep has more points than there are writes.
func (s sweep) count(runs map[string]summary.Run) string {
	passed, interrupted, others := 0, 0, []string{}
	for _, point := range s.points {
		switch run := runs[point.Metadata.Name]; {
		case errors.Is(run.Err, errNotRun):
			interrupted++
		case run.Verdict() != verdict.Passed:
			others = append(others, point.Metadata.Name+": "+run.Why())
		default:
			passed++
		}
	}
	text := fmt.Sprintf("%s: %d of %d points Passed", s.name, passed, len(s.points))
	if len(s.points) < s.all {
		text += fmt.Sprintf(", a sample of %d", s.all)
	}
	if interrupted > 0 {
		others = append(others, fmt.Sprintf("%d never started: the command was interrupted", interrupted))
	}
	return strings.Join(append([]string{text}, others...), "\n  ")
}

// keepScenario writes the scenario beside its evidence, complete and with every default, so that it can be run again by
// itself. It has nothing of the command line, such as the timeout multiplier: to repeat a run, give the same flags.
func keepScenario(folder string, s *scenario.Scenario) error {
	text, err := scenario.Print(s)
	if err != nil {
		return err
	}
	if err := (durable.Disk{}).Write(folder, durable.Bytes(verdict.ScenarioName, text)); err != nil {
		return fmt.Errorf("keep the scenario: %w", err)
	}
	return nil
}
