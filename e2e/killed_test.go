package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded"
)

// Nobody can clean up after SIGKILL, and nothing is left all the same: no process of the run, of its clusters and of the shoot's
// control plane. The folder of the run is judged as what it is, and the next landscape of that name comes up.
func TestARunThatIsKilledLeavesNothing(t *testing.T) {
	l := &landscape{home: t.TempDir()}
	t.Setenv("TRANSPLANT_HOME", l.home)
	out := t.TempDir()
	run := exec.CommandContext(t.Context(), program, "run", "../scenarios/planned-migration.yaml", "--out", out)
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	run.WaitDelay = time.Minute // nobody may keep the output open
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	for deadline := time.Now().Add(3 * time.Minute); apiServers(l.running()) < 4; time.Sleep(100 * time.Millisecond) { // the shoot's, too
		select {
		case err := <-ended:
			t.Fatalf("the run has ended: %v\n%s", err, said.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the shoot has no API server: there are %q", l.running())
		}
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || err.Error() != "signal: killed" {
		t.Errorf("the run ended with %v", err)
	}
	for deadline := time.Now().Add(time.Minute); len(l.running()) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a minute after the run was killed there are %q", l.running())
		}
	}
	if judged, err := l.try(t, nil, program, "judge", out); err == nil || !strings.Contains(judged, "Broken") {
		t.Errorf("what the run has left is judged as %q, %v", judged, err)
	}
	if told := l.run(t, program, "up", "--landscape", "run", "--seeds="); !strings.Contains(told, "cleared what an earlier landscape left") {
		t.Errorf("up after the run was killed says %q", told)
	}
	l.run(t, program, "down", "--landscape", "run")
	if left := l.running(); len(left) > 0 {
		t.Errorf("down has left %q", left)
	}
}

// running are the programs of all landscapes by their command lines. Pods know nothing of the landscape, but have files of it mounted.
func (l *landscape) running() []string {
	var found []string
	programs, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range programs {
		environment, _ := os.ReadFile(filepath.Join(folder, "environ")) // it may have ended
		mounts, _ := os.ReadFile(filepath.Join(folder, "mountinfo"))
		if strings.Contains(string(environment), embedded.DirVariable+"="+l.home) || strings.Contains(string(mounts), l.home) {
			command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
			found = append(found, strings.ReplaceAll(string(command[:min(len(command), 100)]), "\x00", " "))
		}
	}
	return found
}

func apiServers(commands []string) int {
	count := 0
	for _, command := range commands {
		if strings.Contains(command, "kube-apiserver ") {
			count++
		}
	}
	return count
}
