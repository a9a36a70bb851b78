package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded"
)

// Whatever ends a run, nothing is left: no process of the run, of its clusters and of the shoot's control plane; nobody
// can clean up after SIGKILL. The folder of the run is judged as what it is, and the next landscape of that name comes
// up.
func TestARunThatIsEndedLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by         syscall.Signal
		apiServers int    // that run by then
		ends       string // how the run ends
	}{
		{syscall.SIGKILL, 4, "signal: killed"}, // the shoot's, too
		{syscall.SIGINT, 3, "exit status 2"},
		{syscall.SIGTERM, 1, "exit status 2"},
	} {
		t.Run(c.by.String(), func(t *testing.T) { ended(t, c.by, c.apiServers, c.ends) })
	}
}

func ended(t *testing.T, by syscall.Signal, atLeast int, ends string) {
	l, out := newLandscape(t), t.TempDir()
	run := exec.CommandContext(t.Context(), program, "run", "../scenarios/migration/planned-migration.yaml", "--out", out)
	run.Env = l.environment
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	run.WaitDelay = time.Minute // nobody may keep the output open
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	for deadline := time.Now().Add(3 * time.Minute); apiServers(l.running()) < atLeast; time.Sleep(
		100 * time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("the run has ended: %v\n%s", err, said.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("there are no %d API servers: %q", atLeast, l.running())
		}
	}
	if err := run.Process.Signal(by); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || err.Error() != ends {
		t.Errorf("the run ended with %v, want %s:\n%s", err, ends, said.String())
	}
	if left := l.running(); by != syscall.SIGKILL && len(left) > 0 { // it has waited
		t.Errorf("the run has ended, and there are %q", left)
	}
	for deadline := time.Now().Add(time.Minute); len(l.running()) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a minute after the run there are %q", l.running())
		}
	}
	if judged, err := l.try(t, nil, program, "judge", out); err == nil || !strings.Contains(judged,
		"the verdict is Error") {
		t.Errorf("what the run has left is judged as %q, %v", judged, err)
	}
	if by != syscall.SIGKILL {
		return
	}
	if said := l.run(t, program, "up", "--landscape", "run", "--seeds="); !strings.Contains(said,
		"cleared what an earlier landscape left") {
		t.Errorf("up after the run was killed says %q", said)
	}
	l.run(t, program, "down", "--landscape", "run")
	if left := l.running(); len(left) > 0 {
		t.Errorf("down has left %q", left)
	}
}

// running are the programs of all landscapes by their command lines. Pods know nothing of the landscape, but have files
// of it mounted.
func (l *landscape) running() []string {
	var found []string
	programs, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range programs {
		environment, _ := os.ReadFile(filepath.Join(folder, "environ")) // it may have ended
		mounts, _ := os.ReadFile(filepath.Join(folder, "mountinfo"))
		if strings.Contains(string(environment), embedded.DirVariable+"="+l.home) || strings.Contains(string(mounts),
			l.home) {
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
