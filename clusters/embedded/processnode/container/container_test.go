package container_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/roottest"
)

const bound = time.Minute

// The test binary is its own container init, and the program that a test kills to see its containers die.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "container-init":
			fmt.Fprintln(os.Stderr, container.Init())
			os.Exit(1)
		case "parent":
			parent()
		}
	}
	if ran, code, err := container.AsRoot(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	} else if ran {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func launch(t *testing.T, spec container.Spec) (*container.Process, <-chan string, error) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	process, err := container.NewLauncher("container-init").Start(complete(t.TempDir(), spec), writer, writer)
	writer.Close()
	output := make(chan string, 1)
	go func() {
		content, _ := io.ReadAll(reader)
		reader.Close()
		output <- string(content)
	}()
	if process != nil {
		t.Cleanup(func() { process.Kill(); <-process.Done() })
	}
	return process, output, err
}

func complete(dir string, spec container.Spec) container.Spec {
	spec.Root = dir
	if spec.Programs == "" {
		spec.Programs = "/usr/bin"
	}
	if spec.Capabilities == nil {
		spec.Capabilities = container.DefaultCapabilities()
	}
	spec.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, spec.Env...)
	return spec
}

func await(t *testing.T, p *container.Process) container.Exit {
	t.Helper()
	select {
	case <-p.Done():
		return p.Exit()
	case <-time.After(bound):
		t.Fatalf("the process has not ended after %s", bound)
		return container.Exit{}
	}
}

func TestWhatAContainerSees(t *testing.T) {
	t.Parallel()
	volume := t.TempDir()
	if err := os.WriteFile(filepath.Join(volume, "file"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		spec   container.Spec
		script string
		want   string
	}{
		"host name":     {container.Spec{Hostname: "pod-0"}, "hostname", "pod-0"},
		"pid 1":         {container.Spec{}, "echo $$", "1"},
		"own processes": {container.Spec{}, "set -- /proc/[0-9]*; echo $#", "1"},
		"a volume": {container.Spec{Mounts: []container.Mount{{Source: volume, Target: "/var/run/a/b"}}},
			"cat /run/a/b/file", "content"},
		"a file": {container.Spec{Mounts: []container.Mount{{Source: volume + "/file", Target: "/etc/hosts"}}},
			"cat /etc/hosts", "content"},
		"nested mounts": {container.Spec{Mounts: []container.Mount{{Source: volume, Target: "/a/b"},
			{Source: t.TempDir(), Target: "/a"}}}, "cat /a/b/file", "content"},
		"read-only": {container.Spec{Mounts: []container.Mount{{Source: volume, Target: "/a", ReadOnly: true}}},
			"touch /a/x 2>/dev/null || echo refused", "refused"},
		"read-only root": {container.Spec{ReadOnlyRoot: true}, "touch /x 2>/dev/null || echo refused", "refused"},
		"own tmp":        {container.Spec{}, "ls /tmp | wc -l; touch /tmp/x && ls /tmp", "0\nx"},
		"user": {container.Spec{User: container.User{UID: 1000, GID: 2000}}, "id -u; id -g; echo out > /dev/stdout",
			"1000\n2000\nout"},
		"directory": {container.Spec{Dir: "/usr"}, "pwd", "/usr"},
		"programs":  {container.Spec{Programs: volume}, "ls /usr/local/bin", "file"},
		"devices":   {container.Spec{}, "head -c 3 /dev/zero | wc -c; echo lost > /dev/null", "3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.spec.Args = []string{"sh", "-c", test.script}
			process, output, err := launch(t, test.spec)
			if err != nil {
				t.Fatal(err)
			}
			exit := await(t, process)
			if got := strings.TrimSpace(<-output); got != test.want || exit.Code != 0 {
				t.Errorf("got %q and exit code %d, want %q and 0", got, exit.Code, test.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec container.Spec
		want string
	}{
		"unknown program": {container.Spec{Args: []string{"no-such-program"}},
			`exec: "no-such-program": executable file not found in $PATH`},
		"no command": {container.Spec{}, "no command specified"},
		"bad directory": {container.Spec{Args: []string{"true"}, Dir: "/none"},
			"change to the working directory: chdir /none: no such file or directory"},
		"missing source": {container.Spec{Args: []string{"true"}, Mounts: []container.Mount{{Source: "/none", Target: "/a"}}},
			`prepare the container: mount at "/a": stat /none: no such file or directory`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := launch(t, test.spec)
			if err == nil || err.Error() != test.want {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}

// without runs tests of this binary as root without capabilities, as a container has it.
func without(t *testing.T, tests, capabilities string) (output string, err error) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		roottest.Lack(t, "there is no setpriv")
	}
	command := exec.CommandContext(t.Context(), "setpriv", "--bounding-set="+capabilities, executable,
		"-test.run="+tests, "-test.v")
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "TRANSPLANT_ROOTLESS=") { // it is in no namespace of its own making yet
			command.Env = append(command.Env, setting)
		}
	}
	content, err := command.CombinedOutput()
	return string(content), err
}

// Root in a container is not root of the machine: it needs a user namespace, too.
func TestAsRoot_RootWithoutCapabilities_MakesAUserNamespace(t *testing.T) {
	t.Parallel()
	for _, capabilities := range []string{"-sys_admin", "-sys_admin,-setuid,-setgid", "-setpcap", "-sys_chroot"} {
		output, err := without(t, "^(TestWhatAContainerSees|TestExec)$", capabilities)
		if err != nil || !strings.Contains(output, "--- PASS: TestWhatAContainerSees") ||
			!strings.Contains(output, "--- PASS: TestExec") {
			t.Errorf("with %s: %v\n%s", capabilities, err, output)
		}
	}
}

func TestAsRoot_NoUserNamespace_NamesTheRemedy(t *testing.T) {
	t.Parallel()
	output, err := without(t, "^TestExits$", "-sys_admin,-setfcap")
	if err == nil || !strings.Contains(output, "make a user namespace: ") ||
		!strings.Contains(output, "run as another user, or give it CAP_SETFCAP") {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestExits(t *testing.T) {
	t.Parallel()
	process, _, err := launch(t, container.Spec{Args: []string{"sh", "-c", "exit 7"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := await(t, process); got != (container.Exit{Code: 7}) {
		t.Errorf("got %+v, want code 7", got)
	}
	if err := process.Signal(syscall.SIGTERM); !errors.Is(err, container.ErrNotRunning) {
		t.Errorf("signal a process that has ended: got %v", err)
	}
	if _, err := process.Exec(t.Context(), container.Command{Args: []string{"true"}}); !errors.Is(err,
		container.ErrNotRunning) {
		t.Errorf("exec in a process that has ended: got %v", err)
	}
}

func TestKillEndsDescendants(t *testing.T) {
	t.Parallel()
	process, output, err := launch(t, container.Spec{Args: []string{"sh", "-c", "setsid sleep 1000 & sleep 1000"}})
	if err != nil {
		t.Fatal(err)
	}
	process.Kill()
	if got := await(t, process); got != (container.Exit{Code: 137, Signal: 9}) {
		t.Errorf("got %+v, want SIGKILL", got)
	}
	select {
	case <-output: // ends when no descendant holds the pipe
	case <-time.After(bound):
		t.Error("a descendant is still alive")
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	for _, uid := range []uint32{0, 1000} {
		t.Run(fmt.Sprint(uid), func(t *testing.T) {
			t.Parallel()
			process, _, err := launch(t, container.Spec{
				Hostname: "pod-1", Args: []string{"sleep", "1000"}, User: container.User{UID: uid, GID: uid},
			})
			if err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			command := container.Command{
				Args: []string{"sh", "-c", "hostname; cat; echo oops >&2; touch /tmp/made; ls /tmp; exit 3"}, Dir: "/tmp",
				Env: []string{"PATH=/usr/bin:/bin"}, Stdin: strings.NewReader("input\n"), Stdout: &stdout, Stderr: &stderr,
			}
			exit, err := process.Exec(t.Context(), command)
			if err != nil || exit.Code != 3 || stdout.String() != "pod-1\ninput\nmade\n" || stderr.String() != "oops\n" {
				t.Errorf("got %+v, %v, stdout %q, stderr %q", exit, err, &stdout, &stderr)
			}
			stdout.Reset()
			command.Stdin = nil
			command.Args, command.TTY = []string{"sh", "-c", "test -t 0 && echo terminal"}, true
			exit, err = process.Exec(t.Context(), command)
			if err != nil || exit.Code != 0 || !strings.Contains(stdout.String(), "terminal\r\n") {
				t.Errorf("on a terminal: got %+v, %v, stdout %q", exit, err, &stdout)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			command.Args, command.TTY = []string{"sleep", "1000"}, false
			if _, err := process.Exec(ctx, command); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("exec beyond its time: got %v", err)
			}
		})
	}
}

// parent starts a container and waits for the end.
func parent() {
	writer := os.Stdout
	spec := complete(os.Args[2],
		container.Spec{Args: []string{"sh", "-c", "trap '' TERM; echo up; while true; do sleep 1000; done"}})
	if _, err := container.NewLauncher("container-init").Start(spec, writer, writer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	signal.Ignore(syscall.SIGTERM)
	select {}
}

func TestContainersDieWithTheirParent(t *testing.T) {
	t.Parallel()
	command := exec.Command("/proc/self/exe", "parent", t.TempDir())
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	line := make([]byte, 3)
	if _, err := io.ReadFull(output, line); err != nil || string(line) != "up\n" {
		t.Fatalf("the container has not come up: %q, %v", line, err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, output); close(ended) }() // the pipe ends with the last process that holds it
	select {
	case <-ended:
	case <-time.After(bound):
		t.Error("the container has outlived its parent")
	}
	_ = command.Wait()
}

func BenchmarkStart(b *testing.B) {
	launcher := container.NewLauncher("container-init")
	for b.Loop() {
		process, err := launcher.Start(complete(b.TempDir(), container.Spec{Args: []string{"true"}}), nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		<-process.Done()
	}
}
