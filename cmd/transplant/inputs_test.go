package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience with a command that has to refuse at once, on a machine that does much else; one that waits or reads on
// never ends.
const patience = time.Minute

// Commands that read what users name refuse what is no regular file, or too large, at once and in bounded memory.
func TestInputs_WhatIsNoRegularFile_IsRefusedAtOnce(t *testing.T) {
	folder := t.TempDir()
	pipe, huge := filepath.Join(folder, "pipe"), filepath.Join(folder, "huge")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(huge, nil, 0o600),
		os.Truncate(huge, 1<<40)); err != nil {
		t.Fatal(err)
	}
	good, err := filepath.Abs("../../scenarios/migration/planned-migration.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	// runWith is the folder of a run of which one file leads elsewhere.
	runWith := func(name, to string) string {
		run++
		at := filepath.Join(folder, fmt.Sprint("run-", run))
		files := map[string]string{
			"timeline.jsonl": `{"format":"transplant.dev/timeline","version":1,"started":"2026-01-01T00:00:00Z"}` + "\n",
			"verdict.json":   "{}", "scenario.yaml": "{}",
		}
		err := os.Mkdir(at, 0o700)
		for file, content := range files {
			if file == name {
				err = errors.Join(err, os.Symlink(to, filepath.Join(at, file)))
			} else {
				err = errors.Join(err, os.WriteFile(filepath.Join(at, file), []byte(content), 0o600))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct{ path, want string }{{"/dev/zero", "is a device"}, {pipe, "is a named pipe"},
		{huge, "larger than"}} {
		for _, command := range [][]string{
			{"judge", runWith("timeline.jsonl", c.path)}, {"report", runWith("timeline.jsonl", c.path)},
			{"report", runWith("verdict.json", c.path)}, {"report", runWith("scenario.yaml", c.path)},
			{"profile", runWith("timeline.jsonl", c.path)},
			{"trend", c.path}, {"validate", c.path}, {"plan", c.path}, {"run", c.path},
			{"validate", good, "--extension", c.path}, {"plan", good, "--extension", c.path},
			{"explain", "status", "--shoot", c.path}, {"explain", "window", "--shoot", c.path},
			{"explain", "maintenance", "--shoot", c.path, "--cloudprofile", c.path}, {"explain", "webhooks", "--file", c.path},
			{"explain", "cleanup", "--shoot", c.path, "--objects", c.path}, {"explain", "rollout", "--old", c.path, "--new",
				c.path},
			{"explain", "errors", "--shoot", c.path}, {"explain", "tolerations", "--shoot", c.path, "--seed", c.path},
		} {
			before := allocated()
			err := within(t, command)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "give") {
				t.Errorf("%s: error %v, want %q", strings.Join(command, " "), err, c.want)
			}
			if more := allocated() - before; more > 256<<20 {
				t.Errorf("%s: %d MiB were allocated", strings.Join(command, " "), more>>20)
			}
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// within runs a command that must end soon.
func within(t *testing.T, args []string) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		root := newCommand()
		root.SetArgs(args)
		root.SetOut(&bytes.Buffer{})
		root.SetErr(&bytes.Buffer{})
		ended <- root.ExecuteContext(t.Context())
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		return errors.New("it did not end")
	}
}
