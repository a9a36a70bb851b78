// Package output is the flag --output of commands that print data: a table for people, or JSON or YAML for programs.
//
// It knows no data. What a table looks like is for the command to say.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The forms that every command has, and Wide, a table with more columns.
const (
	Text = "text"
	JSON = "json"
	YAML = "yaml"
	Wide = "wide"
)

// Lines is the form of --json where it prints a line for each element of a list.
const Lines = "lines"

// Form is the flag's value.
type Form struct {
	chosen  string
	choices []string
}

// AddFlag adds --output to a command, with the forms that every command has and more.
func AddFlag(command *cobra.Command, more ...string) *Form {
	f := &Form{chosen: Text, choices: append([]string{Text, JSON, YAML}, more...)}
	last := len(f.choices) - 1
	command.Flags().VarP(f, "output", "o",
		"form of the output: "+strings.Join(f.choices[:last], ", ")+" or "+f.choices[last])
	complete := cobra.FixedCompletions(f.choices, cobra.ShellCompDirectiveNoFileComp)
	if err := command.RegisterFlagCompletionFunc("output", complete); err != nil {
		panic(err) // the flag is there, and has no other
	}
	return f
}

// AddJSON adds the flag --json to a command, which had it before --output, with the form that it has always chosen:
// JSON, or Lines.
func (f *Form) AddJSON(command *cobra.Command, form string) {
	const name = "json"
	command.Flags().BoolFunc(name, "print JSON", func(text string) error {
		asked, err := strconv.ParseBool(text)
		if asked && err == nil {
			f.chosen = form
		}
		return err
	})
	if err := command.Flags().MarkDeprecated(name, "use --output json"); err != nil {
		panic(err) // the flag is there, and the text is not empty
	}
}

// Is says whether this form was chosen.
func (f *Form) Is(form string) bool { return f.chosen == form }

// Print data in the form that was chosen; text prints them for people.
func (f *Form) Print(out io.Writer, data any, text func(io.Writer) error) error {
	var content []byte
	var err error
	switch f.chosen {
	case JSON:
		content, err = json.MarshalIndent(data, "", "  ")
		content = append(content, '\n')
	case Lines:
		var lines bytes.Buffer
		for i, list := 0, reflect.ValueOf(data); i < list.Len(); i++ {
			err = errors.Join(err, json.NewEncoder(&lines).Encode(list.Index(i).Interface()))
		}
		content = lines.Bytes()
	case YAML:
		content, err = yaml.Marshal(data)
	default:
		return text(out)
	}
	if err == nil {
		_, err = out.Write(content)
	}
	if err != nil {
		return fmt.Errorf("print as %s: %w", f.chosen, err)
	}
	return nil
}

// Table prints rows of cells below a header, in columns.
func Table(out io.Writer, header []string, rows [][]string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return table.Flush()
}

// Set chooses a form.
func (f *Form) Set(text string) error {
	if !slices.Contains(f.choices, text) {
		return fmt.Errorf("must be one of %s", strings.Join(f.choices, ", "))
	}
	f.chosen = text
	return nil
}

// String is the flag's value.
func (f *Form) String() string { return f.chosen }

// Type of the flag.
func (f *Form) Type() string { return "FORM" }
