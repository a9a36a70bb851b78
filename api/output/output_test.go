package output_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
)

func TestPrint_EachForm(t *testing.T) {
	t.Parallel()
	for chosen, want := range map[string]string{
		"text": "NAME   AGE\nalpha  3\n", "wide": "NAME   AGE\nalpha  3\n",
		"json": "{\n  \"name\": \"alpha\"\n}\n", "yaml": "name: alpha\n",
	} {
		command := &cobra.Command{Use: "c", RunE: func(*cobra.Command, []string) error { return nil }}
		form := output.AddFlag(command, output.Wide)
		command.SetArgs([]string{"-o", chosen})
		if err := command.Execute(); err != nil || !form.Is(chosen) {
			t.Fatalf("%s: %v, %s", chosen, err, form)
		}
		var out bytes.Buffer
		err := form.Print(&out, map[string]string{"name": "alpha"}, func(out io.Writer) error {
			return output.Table(out, []string{"NAME", "AGE"}, [][]string{{"alpha", "3"}})
		})
		if err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", chosen, &out, err, want)
		}
	}
}

func TestForm_OneThatACommandDoesNotHave_IsRefused(t *testing.T) {
	t.Parallel()
	form := output.AddFlag(&cobra.Command{})
	const want = "must be one of text, json, yaml"
	if err := form.Set("wide"); err == nil || err.Error() != want || !form.Is("text") {
		t.Errorf("got %v and %s, want %s", err, form, want)
	}
}
