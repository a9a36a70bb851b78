package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrendCommand(t *testing.T) {
	t.Parallel()
	line := func(rto string) string {
		return `{"scenario":"tale","backend":"small","verdict":"Passed","measures":{"rtoSeconds":` + rto + `}}` + "\n"
	}
	usual := strings.Repeat(line("20"), 3)
	for name, c := range map[string]struct {
		text string
		args []string
		code int
		says string
	}{
		"not worse": {text: usual + line("21"), says: "not worse"},
		"worse": {text: usual + line("30"), code: 1,
			says: "tale       small     rtoSeconds   30.000   20.000   24.000   3         WORSE"},
		"worse for a program": {text: usual + line("30"), args: []string{"-o", "yaml"}, code: 1,
			says: "  newest: 30\n  scenario: tale\n  worse: true\n"},
		"as earlier versions": {text: usual + line("30"), args: []string{"--json"}, code: 1,
			says: `"newest":30,"earlier":3,"median":20,"limit":24,"worse":true}`},
		"nothing for a program": {args: []string{"-o", "json"}, says: "[]\n"},
		"more is tolerated":     {text: usual + line("30"), args: []string{"--tolerance", "0.5"}, says: "not worse"},
		"too few":               {text: line("20") + line("30"), says: "too few earlier runs"},
		"nothing":               {says: "There is nothing to compare"},
		"no record":             {text: "what?\n", code: 2, says: "history.jsonl:1: "},
		"no sense":              {text: usual, args: []string{"--last", "0"}, code: 2, says: "--last 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "history.jsonl")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			command := NewTrendCommand()
			command.SetOut(&out)
			command.SetArgs(append([]string{file}, c.args...))
			command.SilenceErrors, command.SilenceUsage = true, true
			err := command.Execute()
			code := 0
			if coder := (interface{ ExitCode() int })(nil); errors.As(err, &coder) {
				code = coder.ExitCode()
			}
			if err != nil {
				out.WriteString(err.Error())
			}
			if code != c.code || !strings.Contains(out.String(), c.says) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, c.code, c.says, out.String())
			}
		})
	}
}
