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

// sweep is what is told of the points of one scenario.
type sweep struct {
	name   string
	all    int
	points []*scenario.Scenario
}

// expand gives the stories of all files: one for each point of a sweep, or a sample of them. from tells each story's
// file.
func (r *runner) expand(files []*scenario.Scenario, from map[string]string) (stories []*scenario.Scenario,
	sweeps []sweep, err error) {
	if r.sample < 0 {
		return nil, nil, fmt.Errorf("--sample %d: must be the number of points of each sweep, or 0 for all", r.sample)
	}
	var errs []error
	told := map[string]string{}
	for _, file := range files {
		points, err := file.Expand()
		if err != nil {
			return nil, nil, err
		}
		errs = append(errs, claim(told, points, from[file.Metadata.Name]))
		if len(file.Spec.Sweep) > 0 {
			s := sweep{name: file.Metadata.Name, all: len(points)}
			points = scenario.Sample(points, r.sample, r.randomSeed, s.name)
			s.points = points
			sweeps = append(sweeps, s)
		}
		stories = append(stories, points...)
	}
	return stories, sweeps, errors.Join(errs...)
}

// claim the names of a file's stories, each of which is a folder of evidence: all points of a sweep, so that the sample
// does not decide whether files go together. told gives the file of every name that is taken.
func claim(told map[string]string, points []*scenario.Scenario, file string) error {
	for _, point := range points {
		name := point.Metadata.Name
		if other, taken := told[name]; taken {
			return scenario.MistakeIn(file, "metadata.name",
				fmt.Sprintf("the story %q is told by %s too, and its evidence would be overwritten; each needs its own name", name,
					other))
		}
		told[name] = file
	}
	return nil
}

// count says how many of the points have passed, which have not, and why: a crash that nobody felt may lie behind the
// last write that there is, so that the sweep says too many of them.
func (s sweep) count(told map[string]summary.Run) string {
	passed, interrupted, others := 0, 0, []string{}
	for _, point := range s.points {
		switch story := told[point.Metadata.Name]; {
		case errors.Is(story.Err, errNotRun):
			interrupted++
		case story.Verdict() != verdict.Passed:
			others = append(others, point.Metadata.Name+": "+story.Why())
		default:
			passed++
		}
	}
	text := fmt.Sprintf("%s: %d of %d points Passed", s.name, passed, len(s.points))
	if len(s.points) < s.all {
		text += fmt.Sprintf(", a sample of %d", s.all)
	}
	if interrupted > 0 {
		others = append(others, fmt.Sprintf("%d not told: the run was interrupted", interrupted))
	}
	return strings.Join(append([]string{text}, others...), "\n  ")
}

// keepScenario writes the story where its evidence is, closed and with every default, so that it can be told again by
// itself. What the command line does to it, such as the timeout multiplier, is the run's: the same command line tells
// the same.
func keepScenario(folder string, s *scenario.Scenario) error {
	text, err := scenario.Print(s)
	if err != nil {
		return err
	}
	if err := (durable.Disk{}).Write(folder, durable.Bytes(verdict.ScenarioName, text)); err != nil {
		return fmt.Errorf("keep the story: %w", err)
	}
	return nil
}
