package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// A run that cannot be read is an error. The other runs get their reports and their comparison all the same.
func TestWhatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.Mkdir(filepath.Join(above, name), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(filepath.Join(above, name, timeline.FileName))
		if err != nil {
			t.Fatal(err)
		}
		if name != "b" {
			journal := timeline.NewJournal(clock.RealClock{}, file)
			journal.Record(timeline.Event{Payload: timeline.RunStarted{Scenario: name,
				Definition: json.RawMessage(`{"metadata":{"name":"tale"}}`)}})
			err = journal.Close()
		}
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	command := NewReportCommand()
	command.SetOut(&out)
	command.SetArgs([]string{above})
	command.SilenceErrors, command.SilenceUsage = true, true
	err := command.Execute()
	refused := notRun{}
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), filepath.Join(above, "b")) {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"a/report.html", "c/report.html", "comparison.html"} {
		if _, err := os.Stat(filepath.Join(above, name)); err != nil || !strings.Contains(out.String(), name) {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}

// A run that was killed has no page yet: nobody is sent to one.
func TestJudgeNamesThePageThatIsThere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if _, _, err := runFiles(t, &small{t: t}, folder,
		scene(t, t.TempDir(), "fine", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(folder, "report.html")
	if out, err := asked(t, NewJudgeCommand(), folder); err != nil || !strings.Contains(out,
		"kept in "+folder+"; look at "+page+"\n") {
		t.Errorf("with a page: %v\n%s", err, out)
	}
	if err := os.Remove(page); err != nil {
		t.Fatal(err)
	}
	if out, err := asked(t, NewJudgeCommand(), folder); err != nil || !strings.Contains(out,
		"kept in "+folder+"; make a page to look at with transplant report "+folder+"\n") {
		t.Errorf("without: %v\n%s", err, out)
	}
}
