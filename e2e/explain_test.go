package e2e

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestExplainAsProgramsUseIt: exit 0 if every line was answered, by an error too, and 2 for what is no question and for
// a topic that there is not. No landscape is started.
func TestExplainAsProgramsUseIt(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	built(t)
	const good = `{"id":"a","begin":"220000+0100","end":"230000+0100","now":"2026-11-21T12:00:00Z"}` + "\n"
	for _, c := range []struct {
		name, topic, questions string
		code                   int
		answers                []string // how each line begins
	}{
		{"answered", "window", good + `{"id":"b"}`, 0,
			[]string{`{"id":"a","raw":{`, `{"id":"b","error":"field begin is not set"}`}},
		{"one is no question", "window", "{\n" + good, 2, []string{`{"id":null,"error":"`, `{"id":"a","raw":{`}},
		{"no such topic", "weather", good, 2, nil},
	} {
		command := exec.CommandContext(t.Context(), program, "explain", c.topic, "--jsonl")
		command.Env = inHome(home)
		command.Stdin = strings.NewReader(c.questions)
		out, err := command.Output()
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if len(out) == 0 {
			lines = nil
		}
		if code != c.code || len(lines) != len(c.answers) {
			t.Errorf("%s: exit code %d, want %d, and answers\n%s", c.name, code, c.code, out)
			continue
		}
		for i, begin := range c.answers {
			if !strings.HasPrefix(lines[i], begin) {
				t.Errorf("%s: answer %d is %s, want %s…", c.name, i+1, lines[i], begin)
			}
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("explain left %v in its home, %v", left, err)
	}
}
