package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/cli"
	"github.com/transplant-sim/transplant/clusters/embedded/checkpoint"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// sayOfSave runs "checkpoint save".
func sayOfSave(t *testing.T, shoots []cli.Shoot, err error, args ...string) string {
	t.Helper()
	command := cli.NewSave(cli.Configure{Shoots: func(context.Context, string) ([]cli.Shoot, error) {
		return shoots, err
	}})
	var out bytes.Buffer
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	if err := command.ExecuteContext(t.Context()); err != nil {
		return "error: " + err.Error()
	}
	return out.String()
}

// Nothing is stopped that cannot be kept.
func TestCheckpointSave_NotSettled_IsRefusedAndGoesOn(t *testing.T) {
	dir, _ := written(t, "mine")
	state := writeState(t, dir)
	folder := filepath.Join(t.TempDir(), "cp")
	well := cli.Shoot{Name: "garden-p/alpha", Seed: "a", LastOperation: "Create Succeeded", Settled: true}
	busy, moving := well, well
	busy.LastOperation, moving.Seed = "Reconcile Processing 30%", "a, bound to b"
	busy.Settled, moving.Settled = false, false
	for name, c := range map[string]struct {
		args   []string
		shoots []cli.Shoot
		err    error
		kind   bool
		want   string
	}{
		"a shoot is busy": {shoots: []cli.Shoot{well, busy}, want: "shoot garden-p/alpha has not settled: " +
			"its last operation is Reconcile Processing 30%, on seed a"},
		"a shoot is to move": {shoots: []cli.Shoot{moving}, want: "has not settled: its last operation is Create " +
			"Succeeded, on seed a, bound to b"},
		"unknown shoots":     {err: errors.New("no answer"), want: "its shoots are not known: no answer"},
		"of another backend": {kind: true, want: "it is of backend kind: only those of backend embedded can be saved"},
		"something is there": {args: []string{t.TempDir()}, want: "there is something of this name already: remove it"},
		"another landscape":  {args: []string{folder, "--landscape=other"}, want: "the landscape is not up"},
		"no folder":          {args: []string{"--landscape=mine"}, want: "accepts 1 arg(s), received 0"},
	} {
		t.Run(name, func(t *testing.T) {
			if state.Backend = ""; c.kind {
				state.Backend = rundir.Kind
			}
			if err := dir.WriteState(state); err != nil {
				t.Fatal(err)
			}
			args := c.args
			if args == nil {
				args = []string{folder, "--landscape=mine"}
			}
			if said := sayOfSave(t, c.shoots, c.err, args...); !strings.HasPrefix(said, "error: ") ||
				!strings.Contains(said, c.want) {
				t.Errorf("it says %q, want %q", said, c.want)
			}
			if owned, err := dir.Owned(); err != nil || !owned || checkpoint.CanSave(dir) {
				t.Errorf("the landscape is up: %t, %v", owned, err)
			}
		})
	}
}

// What has ended to be saved, and could not be, is saved by the next try, without a landscape that is up.
func TestCheckpointSave_EndedBefore_IsSavedByTheNextTry(t *testing.T) {
	dir, lock := written(t, "mine")
	writeState(t, dir)
	parent := t.TempDir()
	blocked := filepath.Join(parent, "file", "cp")
	if err := errors.Join(os.WriteFile(filepath.Join(parent, "file"), nil, 0o600), os.Mkdir(dir.Join("kept"), 0o755),
		checkpoint.MarkSettled(dir), dir.MarkEnded(), lock.Unlock()); err != nil {
		t.Fatal(err)
	}
	if said := sayOfSave(t, nil, nil, blocked, "--landscape=mine"); !strings.HasPrefix(said, "error: ") {
		t.Errorf("where nothing can be written it says %q", said)
	}
	folder := filepath.Join(parent, "cp")
	if said := sayOfSave(t, nil, nil, folder, "--landscape=mine"); !strings.Contains(said, "up --from "+folder) {
		t.Errorf("it says %q", said)
	}
	if _, err := os.Stat(filepath.Join(folder, "landscape", "kept")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the landscape is still there: %v", err)
	}
}

func TestUp_FromACheckpoint_RefusesFlagsThatItHas(t *testing.T) {
	t.Setenv(rundir.HomeVariable, t.TempDir())
	for args, want := range map[string]string{
		"--from=cp --seeds=c":      "--seeds: the checkpoint of --from cp has its own: leave the flag out",
		"--from=cp --slot=2":       "--slot: the checkpoint",
		"--from=cp --landscape=x":  "--landscape: the checkpoint",
		"--from=cp --backend=kind": "--from cp: a checkpoint is of backend embedded: leave --backend kind out",
		"--from=/nowhere/cp":       `open the checkpoint "/nowhere/cp": it is no checkpoint`,
	} {
		if said := say(t, append([]string{"up"}, strings.Fields(args)...)...); !strings.Contains(said, want) {
			t.Errorf("%s: it says %q, want %q", args, said, want)
		}
	}
}
