package supervisor

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

const ownerVariable = "SUPERVISOR_TEST_OWNER"

// TestMain lets the test binary own a run directory and be deaf to SIGTERM.
func TestMain(m *testing.M) {
	path := os.Getenv(ownerVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	signal.Ignore(syscall.SIGTERM)
	dir := rundir.At("deaf", path)
	lock, _, err := dir.Acquire()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer lock.Unlock() // the garbage collector closes a file that nobody refers to, and with it goes its lock
	child, err := process.NewRunner().Start(process.Spec{Name: "sleeper", Path: "/bin/sleep", Args: []string{"600"}})
	if err == nil {
		err = dir.Remember("sleeper", child.ID())
	}
	fmt.Println("up", err)
	select {}
}

func TestDownKillsAnOwnerThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	dir := rundir.At("deaf", filepath.Join(t.TempDir(), "landscape"))
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerVariable+"="+dir.Path)
	output, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, err := output.Read(line)
	if err != nil || string(line[:n]) != "up <nil>\n" {
		t.Fatalf("the owner says %q, %v", line[:n], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- owner.Wait() }()
	children, err := dir.Leftovers()
	if err != nil || len(children) != 1 {
		t.Fatalf("remembered processes %v, %v; want one", children, err)
	}

	was, err := down(t.Context(), dir, 100*time.Millisecond)
	if err != nil || !was {
		t.Fatalf("down: %v, %v; want true and no error", was, err)
	}
	if children[0].Alive() {
		t.Error("the owner's child lives")
	}
	if _, err := os.Stat(dir.Path); !os.IsNotExist(err) {
		t.Errorf("the run directory is still there: %v", err)
	}
	if err := <-ended; err == nil || err.Error() != "signal: killed" {
		t.Errorf("the owner ended with %v, want killed", err)
	}
}
