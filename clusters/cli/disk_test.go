package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/roottest"
)

// A disk that fills while the clusters come up is what the error says, and nothing is half started.
func TestUpOnADiskThatFills(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	up := h.command("up", "--nodes=false", "--seeds=")
	filler := onSmallDisk(t, up, string(h))
	output := &screenText{}
	up.Stdout, up.Stderr = output, output
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if len(h.processes()) == 0 {
			return fmt.Errorf("nothing has been started: %s", output.String())
		}
		return nil
	})
	filler(t, up.Process.Pid)
	err := up.Wait()
	for _, want := range []string{"too little space on the disk", "0 MiB are free", rundir.HomeVariable} {
		if err == nil || !strings.Contains(output.String(), want) {
			t.Errorf("up on a disk that has filled: %v, without %q: %s", err, want, output.String())
		}
	}
	if left := h.processes(); len(left) > 0 {
		t.Errorf("up has failed, and there are %v", left)
	}
}

// onSmallDisk has a command see a disk of its own at a folder. It is as large as a landscape must find it; the function
// that is returned fills what the command has left of it.
func onSmallDisk(t *testing.T, command *exec.Cmd, folder string) func(t *testing.T, pid int) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	mount := func(c *exec.Cmd) {
		script := []string{"/bin/sh", "-c", `mount -t tmpfs -o size=520m small "$0" && exec "$@"`, folder}
		c.Path, c.Args = script[0], append(script, c.Args...)
		if os.Geteuid() == 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			return
		}
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
	}
	try := exec.Command("true")
	if mount(try); try.Run() != nil {
		roottest.Lack(t, "this machine lets the test mount no disk of its own, not even in a user namespace")
	}
	mount(command)
	return func(t *testing.T, pid int) {
		t.Helper()
		file, err := os.Create(filepath.Join("/proc", strconv.Itoa(pid), "root", folder, "filler"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		block := make([]byte, 1<<20)
		for err == nil {
			_, err = file.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("fill the disk: %v", err)
		}
	}
}
