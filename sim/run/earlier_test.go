package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/trend"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// Whatever reads the files of runs reads those of versions whose verdicts had other words.
func TestEarlierRun_FormerVerdict_IsReadAsTodays(t *testing.T) {
	t.Parallel()
	const well = "  steps: [{wait: {for: 1ms, because: of nothing}}]"
	for _, c := range []struct {
		former string
		now    verdict.Verdict
		steps  string
		fail   error
	}{
		{former: "Held", now: verdict.Passed, steps: well},
		{former: "Violated", now: verdict.Failed,
			steps: `  steps: [{expect: {that: "seed('a').shoots == 7", within: 1ms}}]`},
		{former: "Broken", now: verdict.Error, steps: well, fail: errors.New("port 6443 is taken")},
	} {
		t.Run(c.former, func(t *testing.T) {
			t.Parallel()
			folder, history := t.TempDir(), filepath.Join(t.TempDir(), "history.jsonl")
			_, worst, err := runFilesWith(t.Context(), &small{t: t, fail: c.fail}, func(r *runner) {
				r.history = history
			}, folder, scene(t, t.TempDir(), "tale", empty, c.steps))
			if err != nil || worst != c.now {
				t.Fatalf("the verdict is %s, want %s: %v", worst, c.now, err)
			}
			change(t, filepath.Join(folder, verdict.FileName), `"verdict": "`+string(c.now)+`"`,
				`"verdict": "`+c.former+`"`)
			change(t, history, `"verdict":"`+string(c.now)+`"`, `"verdict":"`+c.former+`"`)
			if c.fail != nil {
				change(t, filepath.Join(folder, timeline.FileName), `"kind":"RunEnded","payload":{"error":`,
					`"kind":"RunEnded","payload":{"broken":`)
			}

			if listed, err := report.SummaryIn(folder); err != nil || listed.Verdict != string(c.now) {
				t.Errorf("the list of runs has %q, %v", listed.Verdict, err)
			}
			if _, err := printed(t.Context(), NewReportCommand(), folder); err != nil {
				t.Error(err)
			}
			if page, title := content(t, folder, report.FileName), "<title>"+string(c.now)+": tale</title>"; !strings.Contains(
				page, title) {
				t.Errorf("the report lacks %s", title)
			}
			out, err := printed(t.Context(), NewJudgeCommand(), folder, "-o", "yaml", "--write")
			if !errors.Is(err, result(c.now)) || !strings.Contains(out, "verdict: "+string(c.now)+"\n") {
				t.Errorf("judge ends with %v and prints %s", err, out)
			}
			samples := content(t, folder, metrics.FileName)
			if !strings.Contains(samples, `verdict="`+string(c.now)+`"} 1`) || strings.Contains(samples, c.former) {
				t.Errorf("the samples are\n%s", samples)
			}
			file, err := os.Open(history)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if records, err := trend.Read(file, history); err != nil || len(records) != 1 || records[0].Verdict != c.now {
				t.Errorf("the history has %v, %v", records, err)
			}
			if _, err := printed(t.Context(), NewTrendCommand(), history); err != nil {
				t.Error(err)
			}
		})
	}
}

// change the only occurrence of a text in a file.
func change(t *testing.T, file, from, to string) {
	t.Helper()
	text := content(t, filepath.Dir(file), filepath.Base(file))
	if strings.Count(text, from) != 1 {
		t.Fatalf("%s has %d times %s:\n%s", file, strings.Count(text, from), from, text)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(text, from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// printed is what a command prints.
func printed(ctx context.Context, command *cobra.Command, arguments ...string) (string, error) {
	var out bytes.Buffer
	command.SetArgs(arguments)
	command.SetOut(&out)
	command.SilenceErrors, command.SilenceUsage = true, true
	err := command.ExecuteContext(ctx)
	return out.String(), err
}

// What was observed for a condition decides again; records of earlier versions do not hold it.
func TestJudge_Expectation_IsJudgedFromTheRecord(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, worst, err := runFilesWith(t.Context(), &small{t: t}, func(*runner) {}, folder, scene(t, t.TempDir(), "tale", empty,
		`  steps: [{expect: {that: "seed('a').shoots == 0", within: 1m}}]`))
	if err != nil || worst != verdict.Passed {
		t.Fatalf("the verdict is %s: %v", worst, err)
	}
	file := filepath.Join(folder, timeline.FileName)
	for _, c := range []struct {
		old, new, says string
		want           verdict.Verdict
	}{
		{`"observed":true`, `"observed":true`, "Passed", verdict.Passed},
		{`"facts":{"seeds":{"a":{`, `"facts":{"seeds":{"a":{"shoots":3,`,
			`is done, and unmet by what was observed: seed("a").shoots is 3`, verdict.Error},
		{`"observed":true`, `"observed":false`, "not judged again: the conditions of the steps", verdict.Passed},
	} {
		change(t, file, c.old, c.new)
		out, err := printed(t.Context(), NewJudgeCommand(), folder)
		if !errors.Is(err, result(c.want)) || !strings.Contains(out, c.says) {
			t.Errorf("with %s judge ends with %v and prints %s; want %s, %q", c.new, err, out, c.want, c.says)
		}
	}
}
