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
	return &cobra.Command{
		Use:   "validate FILE…",
		Short: "Find mistakes in scenario files",
		Long: `Find mistakes in scenario files, without starting anything. docs/scenarios.md lists every word that may stand in one.

The exit code is 2 if there is a mistake.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, files []string) error {
			var errs []error
			for _, file := range files {
				s, err := ParseFile(file)
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
}

// NewPlanCommand is the command `plan FILE…`: it prints scenarios with every default filled in. What it prints can be
// run by itself.
func NewPlanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "plan FILE…",
		Short: "Print scenarios with every default filled in",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, files []string) error {
			for i, file := range files {
				s, err := ParseFile(file)
				if err != nil {
					return refused{err}
				}
				text, err := Print(s)
				if err != nil {
					return refused{err}
				}
				if i > 0 {
					text = append([]byte("---\n"), text...)
				}
				if _, err := command.OutOrStdout().Write(text); err != nil {
					return fmt.Errorf("print the plan: %w", err)
				}
			}
			return nil
		},
	}
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
