package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/verdict"
)

// However a run ends, the logs are in its folder, and JUnit says where.
func TestLogs_AreKeptWithTheEvidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		fail error
		want verdict.Verdict
		says string
	}{
		{"of a landscape that does not come up", errors.New("the actor gardenlet-a never came up on seed a"), verdict.Error,
			"failed to start"},
		{"of a run that passes", nil, verdict.Passed, "worked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "out")
			stale := filepath.Join(folder, "logs", "b", "gone.log")
			if err := errors.Join(os.MkdirAll(filepath.Dir(stale), 0o755), os.WriteFile(stale, nil, 0o600),
				markLogs(filepath.Join(folder, "logs"))); err != nil {
				t.Fatal(err)
			}
			out, got, err := runFiles(t, &small{t: t, logs: true, fail: c.fail}, folder, write(t, t.TempDir(), "one"))
			if err != nil || got != c.want {
				t.Fatalf("%s, want %s: %v\n%s", got, c.want, err, out)
			}
			log, err := os.ReadFile(filepath.Join(folder, "logs", "a", "gardenlet-a.log"))
			if err != nil || string(log) != c.says {
				t.Errorf("the log says %q, want %q: %v", log, c.says, err)
			}
			if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a log of the earlier run is there: %v", err)
			}
			junit, err := os.ReadFile(filepath.Join(folder, verdict.JUnitName))
			if err != nil {
				t.Fatal(err)
			}
			if points := strings.Contains(string(junit), "are in "+filepath.Join(folder, "logs")+
				"."); points != (c.want == verdict.Error) {
				t.Errorf("JUnit names the folder: %t\n%s", points, junit)
			}
		})
	}
}

// A folder that is called like the one for logs may be somebody's own.
func TestLogs_FolderOfSomebodyElse_Stays(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "logs")
	own := filepath.Join(folder, "own.log")
	if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(own, nil, 0o600), removeLogs(folder)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}
