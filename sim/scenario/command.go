package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// refused is the error of files with mistakes: the story could not be told (DESIGN section 5).
type refused struct{ error }

// ExitCode of the program.
func (refused) ExitCode() int { return 2 }

func (r refused) Unwrap() error { return r.error }

// NewValidateCommand is the command `validate FILE…`: it finds mistakes without starting anything.
func NewValidateCommand() *cobra.Command {
	var extensions ExtensionFlag
	command := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Find mistakes in scenario files",
		Long: `Find mistakes in scenario files, without starting anything. docs/scenarios.md lists every word that may stand in one.

The exit code is 2 if there is a mistake.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, files []string) error {
			own, err := extensions.Parse()
			if err != nil {
				return refused{err}
			}
			var errs []error
			for _, file := range files {
				s, err := ParseFile(file, own...)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(command.OutOrStdout(), "%s: scenario %s is fine\n", file, s.Metadata.Name)
			}
			if err := errors.Join(errs...); err != nil {
				return refused{err}
			}
			return nil
		},
	}
	extensions.AddFlag(command.Flags())
	return command
}

// NewPlanCommand is the command `plan FILE…`: it prints the stories that a run would tell. Each can be run by itself.
func NewPlanCommand() *cobra.Command {
	var sample int
	var randomSeed uint64
	var extensions ExtensionFlag
	command := &cobra.Command{
		Use:   "plan FILE…",
		Short: "Print scenarios with every default filled in, and what a sweep expands to",
		Long: `Print scenarios with every default filled in.

Of a scenario with a sweep it is every point, a story of its own, as run tells them; with --sample N and --seed S the
N points of each sweep that run tells with the same flags.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, files []string) error {
			if sample < 0 {
				return refused{fmt.Errorf("--sample %d: must be the number of points of each sweep, or 0 for all", sample)}
			}
			if sample > 0 && !command.Flags().Changed("seed") {
				return refused{fmt.Errorf("--sample %d: the points are chosen by the random seed: give the --seed of the run", sample)}
			}
			own, err := extensions.Parse()
			if err != nil {
				return refused{err}
			}
			var plan bytes.Buffer
			for _, file := range files {
				s, err := ParseFile(file, own...)
				if err == nil {
					err = planStories(&plan, s, sample, randomSeed)
				}
				if err != nil {
					return refused{err}
				}
			}
			if _, err := plan.WriteTo(command.OutOrStdout()); err != nil {
				return fmt.Errorf("print the plan: %w", err)
			}
			return nil
		},
	}
	command.Flags().IntVar(&sample, "sample", 0, "print so many points of each sweep, chosen by the random seed (default: all)")
	command.Flags().Uint64Var(&randomSeed, "seed", 0, "random seed of the run")
	extensions.AddFlag(command.Flags())
	return command
}

// planStories adds the stories of a file to a plan, a document each.
func planStories(plan *bytes.Buffer, s *Scenario, sample int, randomSeed uint64) error {
	points, err := s.Expand()
	if err != nil {
		return err
	}
	told := Sample(points, sample, randomSeed, s.Metadata.Name)
	for i, story := range told {
		if plan.Len() > 0 {
			plan.WriteString("---\n")
		}
		if len(s.Spec.Sweep) > 0 {
			fmt.Fprintf(plan, "# %s, %d of %d points of %s\n", story.Metadata.Name, i+1, len(told), s.Metadata.Name)
		}
		text, err := Print(story)
		if err != nil {
			return err
		}
		plan.Write(text)
	}
	return nil
}

// Print writes a scenario as a file, its fields in the order of the types.
func Print(s *Scenario) ([]byte, error) {
	content, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("marshal the scenario: %w", err)
	}
	// JSON is YAML in flow style: in block style it reads like a file that somebody wrote.
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("print the scenario: %w", err)
	}
	block(&document)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&document), encoder.Close()); err != nil {
		return nil, fmt.Errorf("print the scenario: %w", err)
	}
	return text.Bytes(), nil
}

func block(node *yaml.Node) {
	node.Style = 0
	for _, child := range node.Content {
		block(child)
	}
}
