package kind

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Only what has the variable with this value is signalled, and its id is returned. Signal 0 ends nothing.
func TestSignalWhere_ProcessWithTheVariable_IsEnded(t *testing.T) {
	t.Parallel()
	start := func(value string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), "sleep", "600")
		command.Env = []string{"TRANSPLANT_TEST_SIGNAL=" + value}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		return command
	}
	signal := func(value, signal string) string {
		output, err := exec.CommandContext(t.Context(), "sh", "-c", signalWhere, "sh", "TRANSPLANT_TEST_SIGNAL="+value,
			signal).Output()
		if err != nil {
			t.Errorf("signal %s: %v", signal, err)
		}
		return strings.TrimSpace(string(output))
	}
	one, other := start("a"), start("a.b")
	for _, which := range []string{"0", "9"} {
		if got, want := signal("a", which), strconv.Itoa(one.Process.Pid); got != want {
			t.Errorf("signal %s went to %q, want %s", which, got, want)
		}
	}
	_ = one.Wait() // its state is looked at
	if status, _ := one.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("the process ended with %s", one.ProcessState)
	}
	if got := signal("a", "9"); got != "" {
		t.Errorf("what has ended is signalled: %q", got)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another process has ended: %v", err)
	}
	_ = other.Process.Kill()
	_ = other.Wait() // it was killed
}
