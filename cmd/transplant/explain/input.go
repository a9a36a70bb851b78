package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"
)

// readObject reads an object of the wire API from a file, YAML or JSON, "-" for standard input. Fields that are not
// known here are told of on standard error.
func readObject(command *cobra.Command, flag, path, kind string, into any) error {
	content, err := readFile(command, path)
	if err != nil {
		return fmt.Errorf("read the %s (--%s): %w", kind, flag, err)
	}
	document, err := yaml.YAMLToJSON(content)
	if err != nil {
		return fmt.Errorf("read the %s in %s: it is neither YAML nor JSON: %w", kind, path, err)
	}
	var meta struct {
		Kind string `json:"kind"`
	}
	if err := decode(document, &meta); err != nil {
		return fmt.Errorf("read the %s in %s: expected one object with a kind", kind, path)
	}
	if meta.Kind != kind {
		return fmt.Errorf("read the %s in %s: field kind is %q: give the file of a %s with --%s", kind, path, meta.Kind, kind, flag)
	}
	if err := decode(document, into); err != nil {
		return fmt.Errorf("read the %s in %s: %w", kind, path, err)
	}
	newWarnings(command.ErrOrStderr()).tell(unknowns(document, into), func(u unknown) string {
		if line := lineOf(content, u.path); line > 0 {
			return fmt.Sprintf("%s:%d", path, line)
		}
		return path
	})
	return nil
}

func readFile(command *cobra.Command, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(command.InOrStdin())
	}
	return os.ReadFile(path)
}

// nowFlag is the moment that is asked about: that of the machine, unless --now says another.
type nowFlag struct{ text string }

func (f *nowFlag) register(command *cobra.Command) {
	command.Flags().StringVar(&f.text, "now", "", "moment to judge at, for example 2026-11-21T12:00:00Z (default: the present)")
}

func (f *nowFlag) time(present clock.PassiveClock) (time.Time, error) {
	if f.text == "" {
		return present.Now().UTC(), nil
	}
	now, err := time.Parse(time.RFC3339Nano, f.text)
	if err != nil {
		return time.Time{}, fmt.Errorf("read --now: %q is no time of the form 2026-11-21T12:00:00Z", f.text)
	}
	return now, nil
}

// orPresent is the moment that a question is about: the present if it names none.
func orPresent(now *time.Time) *time.Time {
	if now == nil {
		present := clock.RealClock{}.Now().UTC()
		return &present
	}
	return now
}

// outputFlag is the form of an answer for people: text, or JSON for their programs.
type outputFlag struct{ form string }

func (f *outputFlag) register(command *cobra.Command) {
	command.Flags().StringVarP(&f.form, "output", "o", "text", "form of the answer: text or json")
}

func (f *outputFlag) check() error {
	if !slices.Contains([]string{"text", "json"}, f.form) {
		return fmt.Errorf("read --output: %q is no form: choose text or json", f.form)
	}
	return nil
}

// print writes an answer in the form that was asked for.
func (f *outputFlag) print(out io.Writer, answer any, text func(io.Writer) error) error {
	if f.form == "text" {
		return text(out)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(answer); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// required says which of a topic's flags are missing.
func required(flags ...[2]string) error {
	for _, flag := range flags {
		if flag[1] == "" {
			return fmt.Errorf("set --%s, or --jsonl to answer questions from standard input", flag[0])
		}
	}
	return nil
}
