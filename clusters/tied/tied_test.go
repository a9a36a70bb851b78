package tied_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/transplant-sim/transplant/clusters/tied"
)

// asParent makes the test binary start a program, and wait.
const asParent = "TRANSPLANT_TEST_AS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) == "" {
		os.Exit(m.Run())
	}
	child := exec.Command("/bin/sh", "-c", "echo ready; exec sleep 600")
	child.Stdout = os.Stdout
	if err := tied.Start(child, syscall.SIGTERM); err != nil {
		panic(err)
	}
	select {}
}

// endThreads ends threads of this process, in all likelihood each that no goroutine needs.
func endThreads() {
	var all sync.WaitGroup
	hold := make(chan struct{})
	for range 50 {
		all.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			<-hold
		})
	}
	close(hold)
	all.Wait()
}

func TestStart_ThreadsOfTheProcessEnd_ItLives(t *testing.T) {
	t.Parallel()
	for range 20 {
		child := exec.Command("/bin/sleep", "600")
		if err := tied.Start(child, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		endThreads()
		if err := child.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err == nil || err.Error() != "signal: terminated" {
			t.Fatalf("%v; it should have lived until it was asked to end", err)
		}
	}
}

func TestStart_TheProcessEnds_ItGetsTheSignal(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1")
	said, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tied.Start(parent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The child has the pipe open as long as it lives, which is longer than any test may take.
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("the child says %q, %v", rest, err)
	}
	if err := parent.Wait(); fmt.Sprint(err) != "signal: killed" {
		t.Errorf("the parent: %v", err)
	}
}

func TestStart_NoSuchProgram_SaysSo(t *testing.T) {
	t.Parallel()
	if err := tied.Start(exec.Command("/nowhere/ghost"), syscall.SIGKILL); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}
