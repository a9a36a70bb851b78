package timeline_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// heldFolder names the folder that the process started by TestGoesOn_ProcessKilled_HasEnded is to hold.
const heldFolder = "TIMELINE_TEST_HELD_FOLDER"

// A process that is killed cannot say that its run has ended.
func TestGoesOn_ProcessKilled_HasEnded(t *testing.T) {
	t.Parallel()
	if folder := os.Getenv(heldFolder); folder != "" {
		release, err := timeline.Hold(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		defer release() // the garbage collector closes a file that nobody refers to, and with it goes its lock
		_, _ = os.Stdout.WriteString("held\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	folder := t.TempDir()
	holder := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	holder.Env = append(os.Environ(), heldFolder+"="+folder)
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if goesOn, lookErr := timeline.GoesOn(folder); err != nil || line != "held\n" || lookErr != nil || !goesOn {
		t.Errorf("while its process is there: goes on %t, %v; it says %q, %v", goesOn, lookErr, line, err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	if goesOn, err := timeline.GoesOn(folder); err != nil || goesOn {
		t.Errorf("when its process has gone: goes on %t, %v", goesOn, err)
	}
}

// To look whether a run goes on keeps no run from beginning; to judge it does.
func TestHold_WhileOthersLook_WaitsForThem(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	release, err := timeline.Hold(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	release()
	release, err = timeline.HoldEnded(folder)
	if err != nil {
		t.Fatal(err)
	}
	if release, err := timeline.Hold(t.Context(), folder); err == nil {
		release()
		t.Error("a run begins where one is judged")
	}
	begun := make(chan error, 1)
	go func() {
		release, err := timeline.Hold(t.Context(), folder)
		if err == nil {
			release()
		}
		begun <- err
	}()
	release()
	if err := <-begun; err != nil {
		t.Errorf("after a glance: %v", err)
	}
}
