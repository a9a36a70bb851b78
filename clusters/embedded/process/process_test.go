package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play the parent whose death is tested: it starts two children and prints their pids.
func TestMain(m *testing.M) {
	if os.Getenv("PROCESS_TEST_PARENT") == "" {
		os.Exit(m.Run())
	}
	// Who starts tests in the background lets them ignore this signal, and so would the parent.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	runner := NewRunner()
	for range 2 {
		p, err := runner.Start(Spec{Name: "sleeper", Path: "/bin/sleep", Args: []string{"600"}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.ID().PID, p.ID().Birth)
	}
	<-interrupted
	os.Exit(130)
}

const bound = time.Minute

func start(t *testing.T, script string) *Process {
	t.Helper()
	runner := NewRunner()
	t.Cleanup(func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := runner.Start(Spec{
		Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"GREETING=hello"},
		Log: filepath.Join(t.TempDir(), "logs", "script.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What a process starts has it, too: the programs in the pods of a process node.
func TestTimerSlack_OfAProcess_IsInherited(t *testing.T) {
	t.Parallel()
	p := start(t, "cat /proc/self/timerslack_ns")
	<-p.Done()
	content, err := os.ReadFile(p.Spec().Log)
	if got := strings.TrimSpace(string(content)); err != nil || got != "1000000" {
		t.Errorf("a child may be woken %s ns late (%v), want a millisecond", got, err)
	}
}

func TestGoDebug_SettingsOfTheUser_Stay(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{"": "tlsmlkem=0", "gctrace=1": "gctrace=1,tlsmlkem=0"} {
		if got := GoDebug(set); got != want {
			t.Errorf("of %q: %q, want %q", set, got, want)
		}
	}
}

// A process gets what it needs of its parent's environment. The user's credentials, and what configures other programs,
// are only for processes that ask for them.
func TestEnvironment_OfAProcess_HasNothingItNeedNotKnow(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_SECRET_ACCESS_KEY": "s3", "GITHUB_TOKEN": "github", "GOOGLE_API_KEY": "google", "ETCD_NAME": "etcd",
		"KUBECONFIG": "kube", "GODEBUG": "x509negativeserial=0", "TRANSPLANT_HOME": "/srv", "PATHOLOGY": "no path",
	} {
		t.Setenv(name, value)
	}
	for _, test := range []struct{ inherit, want, missing []string }{
		{want: []string{"GODEBUG=", "TRANSPLANT_HOME=/srv", "PATH=", "OWN=1"}, missing: []string{"AWS_", "GITHUB_TOKEN=",
			"GOOGLE_API_KEY=", "ETCD_NAME=", "KUBECONFIG=", "PATHOLOGY="}},
		{inherit: []string{"AWS_*", "KUBECONFIG"}, want: []string{"AWS_SECRET_ACCESS_KEY=s3", "KUBECONFIG=kube", "PATH=",
			"OWN=1"}, missing: []string{"GITHUB_TOKEN=", "GOOGLE_API_KEY=", "ETCD_NAME=", "PATHOLOGY="}},
	} {
		runner := NewRunner()
		log := filepath.Join(t.TempDir(), "env.log")
		p, err := runner.Start(Spec{Name: "env", Path: "/usr/bin/env", Env: []string{"OWN=1"}, Inherit: test.inherit,
			Log: log})
		if err != nil {
			t.Fatal(err)
		}
		awaitEnd(t, p)
		content, err := os.ReadFile(log)
		if err != nil || p.Err() != nil || runner.Close() != nil {
			t.Fatal(err, p.Err())
		}
		environment := "\n" + string(content)
		for _, name := range test.want {
			if !strings.Contains(environment, "\n"+name) {
				t.Errorf("with %v it has no %s:%s", test.inherit, name, environment)
			}
		}
		for _, name := range test.missing {
			if strings.Contains(environment, "\n"+name) {
				t.Errorf("with %v it has %s:%s", test.inherit, name, environment)
			}
		}
	}
}

// The error of a process that has ended has the reason that its log ends with.
func TestEnded_ProgramThatSaysWhy_IsQuoted(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"echo first; echo 'Error: no namespaces'; echo; exit 3": "ended (exit status 3): Error: no namespaces (log ",
		"exit 4": "ended (exit status 4), see ",
		"exit 0": "ended (exit status 0), see ",
		"for i in $(seq 2000); do echo long; done; echo last": "ended (exit status 0): last (log ",
	} {
		p := start(t, script)
		awaitEnd(t, p)
		got := p.Ended().Error()
		if !strings.Contains(got, `process "script" `+want) || !strings.Contains(got, p.Spec().Log) {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

func awaitLog(t *testing.T, p *Process, want string) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for {
		content, _ := os.ReadFile(p.Spec().Log)
		if strings.Contains(string(content), want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log of %q has no %q: %q", p.Name(), want, content)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func awaitEnd(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(bound):
		t.Fatalf("process %q still runs", p.Name())
	}
}

func TestProcess_Ends_ReportsHow(t *testing.T) {
	t.Parallel()
	p := start(t, `echo "$GREETING out"; echo err >&2; exit 3`)
	awaitEnd(t, p)
	var exit *exec.ExitError
	if !errors.As(p.Err(), &exit) || exit.ExitCode() != 3 {
		t.Errorf("got error %v, want exit code 3", p.Err())
	}
	if p.Asked() || p.Running() || p.ID().Alive() {
		t.Errorf("asked %v, running %v, alive %v; want none", p.Asked(), p.Running(), p.ID().Alive())
	}
	awaitLog(t, p, "hello out")
	awaitLog(t, p, "err")
}

func TestStop(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		freeze bool
		grace  time.Duration
		want   syscall.Signal // that ended it; 0 for an exit of its own
	}{
		"willing": {script: `trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done`, grace: bound},
		"default": {script: `echo ready; exec sleep 600`, grace: bound, want: syscall.SIGTERM},
		"stubborn": {script: `trap '' TERM; echo ready; while :; do sleep 0.01; done`, grace: 50 * time.Millisecond,
			want: syscall.SIGKILL},
		"frozen": {script: `echo ready; exec sleep 600`, freeze: true, grace: bound, want: syscall.SIGTERM},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, test.script)
			awaitLog(t, p, "ready")
			if test.freeze {
				if _, err := p.ID().Freeze(); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Stop(t.Context(), test.grace); err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, p)
			if !p.Asked() {
				t.Error("the process was stopped but says nobody asked")
			}
			got := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if test.want == 0 && got.ExitStatus() != 0 {
				t.Errorf("ended with %v, want exit code 0", p.Err())
			}
			if test.want != 0 && got.Signal() != test.want {
				t.Errorf("ended by %v, want %v", got.Signal(), test.want)
			}
		})
	}
}

func TestFreeze_ProcessWithChildren_StopsTheWholeTree(t *testing.T) {
	t.Parallel()
	p := start(t, `sh -c 'echo grandchild; while :; do sleep 0.01; done' & echo child; wait`)
	awaitLog(t, p, "grandchild")
	frozen, err := p.ID().Freeze()
	if err != nil {
		t.Fatal(err)
	}
	if len(frozen) == 0 {
		t.Fatal("nobody below the process was stopped")
	}
	for _, id := range append(frozen, p.ID()) {
		if got := state(t, id.PID); got != "T" {
			t.Errorf("process %d is in state %q after Freeze, want T", id.PID, got)
		}
	}
	if err := p.ID().Thaw(frozen); err != nil {
		t.Fatal(err)
	}
	if got := state(t, p.PID()); got == "T" {
		t.Error("the process is still stopped after Thaw")
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, id := range frozen { // not children of ours: the shell's, which have no reason to go by themselves
		if err := id.Kill(bound); err != nil {
			t.Error(err)
		}
	}
}

// A shell waits in vfork until its child has begun another program, and a child that is stopped before does not. So the
// parent has to stop first. Freezing often meets such moments.
func TestFreeze_ChildrenThatAreJustBorn_StopToo(t *testing.T) {
	t.Parallel()
	p := start(t, `sh -c 'echo grandchild; while kill -0 $PPID; do /bin/true; done' & echo child; wait`)
	awaitLog(t, p, "grandchild")
	for range 100 {
		frozen, err := p.ID().Freeze()
		if err := errors.Join(err, p.ID().Thaw(frozen)); err != nil {
			t.Error(err)
			break
		}
		if len(frozen) == 0 {
			t.Error("the shell that always has children was not frozen")
			break
		}
	}
	if err := p.Kill(); err != nil { // the grandchild ends, for its parent is no more
		t.Error(err)
	}
	awaitEnd(t, p)
}

func state(t *testing.T, pid int) string {
	t.Helper()
	fields, err := stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return string(fields[0])
}

func TestIDKillsOnlyTheSameProcess(t *testing.T) {
	t.Parallel()
	p := start(t, `echo ready; exec sleep 600`)
	awaitLog(t, p, "ready")
	later := ID{PID: p.PID(), Birth: p.ID().Birth + 1} // the same pid, reused
	if later.Alive() {
		t.Error("a process of another birth counts as alive")
	}
	if err := later.Kill(bound); err != nil {
		t.Error(err)
	}
	if !p.Running() {
		t.Fatal("a process that only shares the pid was killed")
	}
	if err := p.ID().Kill(bound); err != nil {
		t.Error(err)
	}
	awaitEnd(t, p)
}

func TestClosedRunnerStartsNothing(t *testing.T) {
	t.Parallel()
	runner := NewRunner()
	if err := runner.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Start(Spec{Name: "late", Path: "/bin/true"}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if err := runner.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

func TestMissingExecutable(t *testing.T) {
	t.Parallel()
	runner := NewRunner()
	defer runner.Close()
	_, err := runner.Start(Spec{Name: "ghost", Path: "/nowhere/ghost"})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), `"ghost"`) {
		t.Errorf("got %v, want one that names the process and wraps ErrNotExist", err)
	}
}

// However the parent ends, its children do not outlive it.
func TestChildrenDieWithTheirParent(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			parent := exec.Command(os.Args[0])
			parent.Env = append(os.Environ(), "PROCESS_TEST_PARENT=1")
			output, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			var children []ID
			for lines := bufio.NewScanner(output); len(children) < 2 && lines.Scan(); {
				pid, birth, _ := strings.Cut(lines.Text(), " ")
				number, err := strconv.Atoi(pid)
				if err != nil {
					t.Fatal(lines.Text())
				}
				ticks, _ := strconv.ParseUint(birth, 10, 64)
				children = append(children, ID{PID: number, Birth: ticks})
			}
			if len(children) != 2 || !children[0].Alive() || !children[1].Alive() {
				t.Fatalf("the children %v do not live", children)
			}
			if err := parent.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait() // ended by the signal
			for _, id := range children {
				for deadline := time.Now().Add(bound); id.Alive(); time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("child %d outlives its parent", id.PID)
					}
				}
			}
		})
	}
}

// A grandchild at work counts, and so does what a child has left behind that was waited for.
func TestUsageFrom(t *testing.T) {
	used := func() (below time.Duration) {
		t.Helper()
		all, err := UsageFrom(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range all {
			if below += u.Ended; u.PID != os.Getpid() {
				below += u.CPU
			}
		}
		return below
	}
	before := used()
	p := start(t, "sh -c 'while :; do :; done' & echo born; wait")
	awaitLog(t, p, "born")
	below, err := Descendants(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the script's child, which has no reason to go by itself
		for _, id := range below {
			if err := id.Kill(bound); err != nil {
				t.Error(err)
			}
		}
	})
	if len(below) != 1 {
		t.Fatalf("%d processes are below the script", len(below))
	}
	now := before
	for deadline := time.Now().Add(bound); now < before+10*tick; time.Sleep(tick) {
		now = used()
		if time.Now().After(deadline) {
			t.Fatalf("a grandchild is at work, and the time grows from %v to %v only", before, now)
		}
	}
	all, err := UsageFrom(p.PID())
	if err != nil || len(all) != 2 || all[0].Program != "sh" || all[0].Parent != os.Getpid() || all[0].WakeUps == 0 ||
		all[1].ID != below[0] || all[1].Program != "sh" || all[1].Parent != p.PID() || all[1].CPU < 5*tick {
		t.Errorf("a script and its child have used %+v: %v", all, err)
	}
	if err := below[0].Kill(bound); err != nil {
		t.Fatal(err)
	}
	<-p.Done() // the script has waited for its child, and we for the script
	if after := used(); after < now {
		t.Errorf("%v when all have ended, %v before", after, now)
	}
	if _, err := UsageFrom(p.PID()); err == nil {
		t.Error("a process that is gone has used something")
	}
}
