package rundir

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

func newDir(t *testing.T) Dir {
	t.Helper()
	return At("test", filepath.Join(t.TempDir(), "home", "test"))
}

func acquire(t *testing.T, d Dir) (lock *Lock, cleared bool) {
	t.Helper()
	lock, cleared, err := d.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	return lock, cleared
}

func unlock(t *testing.T, lock *Lock) {
	t.Helper()
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestHome(t *testing.T) {
	tests := map[string]struct{ home, state, want string }{
		"variable":       {"/h", "/s", "/h"},
		"state":          {"", "/s", "/s/transplant"},
		"relative state": {"", "s", "/home/u/.local/state/transplant"}, // the XDG rules say to ignore it
		"neither":        {"", "", "/home/u/.local/state/transplant"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(HomeVariable, test.home)
			t.Setenv("XDG_STATE_HOME", test.state)
			t.Setenv("HOME", "/home/u")
			got, err := Home()
			if err != nil || got != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
	for _, name := range []string{"", "..", "a/b", "UPPER"} {
		if _, err := Of("/h", name); err == nil {
			t.Errorf("a landscape may be called %q", name)
		}
	}
}

func TestOneOwnerAtATime(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	if owned, err := d.Owned(); err != nil || owned {
		t.Errorf("a folder that never was is owned: %v, %v", owned, err)
	}
	lock, cleared := acquire(t, d)
	if cleared {
		t.Error("a folder that never was has been cleared")
	}
	if owned, err := d.Owned(); err != nil || !owned {
		t.Errorf("the folder is not owned: %v, %v", owned, err)
	}
	if owner, err := d.Owner(); err != nil || owner != process.Self() {
		t.Errorf("the owner is %v, %v; want this process", owner, err)
	}
	if living, err := Living(filepath.Dir(d.Path)); err != nil || !slices.Equal(living, []string{"test"}) {
		t.Errorf("living are %v, %v", living, err)
	}
	if _, _, err := d.Acquire(); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "transplant down") {
		t.Errorf("a second owner: got %v, want ErrInUse and what to do", err)
	}
	unlock(t, lock)
	if owned, err := d.Owned(); err != nil || owned {
		t.Errorf("the folder is owned after Unlock: %v, %v", owned, err)
	}
	if living, err := Living(filepath.Dir(d.Path)); err != nil || len(living) > 0 {
		t.Errorf("after Unlock, living are %v, %v", living, err)
	}
	lock, cleared = acquire(t, d)
	if !cleared {
		t.Error("the folder of before has not been cleared")
	}
	unlock(t, lock)
}

func TestLivingAreSorted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{"run-2", "run", "default"} {
		lock, _ := acquire(t, At(name, filepath.Join(home, name)))
		defer unlock(t, lock)
	}
	living, err := Living(home)
	if diff := cmp.Diff([]string{"default", "run", "run-2"}, living); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestClearEndsLeftoversAndOnlyThem(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	lock, _ := acquire(t, d)
	defer unlock(t, lock)
	leftover, bystander := sleeper(t), sleeper(t)
	reused := bystander
	reused.Birth-- // its pid is in the list, from an earlier life
	for name, id := range map[string]process.ID{"leftover": leftover, "reused": reused} {
		if err := d.Remember(name, id); err != nil {
			t.Fatal(err)
		}
	}
	journal, err := os.OpenFile(d.journal(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.WriteString(`{"name":"torn`); err != nil { // the writer was killed
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := d.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]ProcessState{{Name: "leftover", ID: leftover}}, left); diff != "" {
		t.Error(diff)
	}
	if cleared, err := d.Clear(); err != nil || !cleared {
		t.Fatalf("clear: %v, %v", cleared, err)
	}
	if leftover.Alive() {
		t.Error("the leftover lives")
	}
	if !bystander.Alive() {
		t.Error("a process that only has the pid of a dead one was killed")
	}
	if _, err := os.Stat(d.Path); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func sleeper(t *testing.T) process.ID {
	t.Helper()
	command := exec.Command("/bin/sleep", "600")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan struct{})
	go func() {
		_ = command.Wait() // ended by a signal
		close(reaped)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill() // may be gone
		<-reaped
	})
	id, err := process.Find(command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestClearLeavesForeignFoldersAlone(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	if err := os.MkdirAll(d.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	if cleared, err := d.Clear(); err != nil || cleared {
		t.Errorf("clear an empty folder: %v, %v", cleared, err)
	}
	file := d.Join("thesis.txt")
	if err := os.WriteFile(file, []byte("years"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Acquire(); !errors.Is(err, ErrForeign) {
		t.Errorf("got %v, want ErrForeign", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if owned, _ := d.Owned(); owned {
		t.Error("who was refused owns the folder")
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	if _, err := d.ReadState(); !errors.Is(err, ErrNotUp) {
		t.Errorf("read a state that is none: got %v, want ErrNotUp", err)
	}
	lock, _ := acquire(t, d)
	defer unlock(t, lock)
	want := State{
		Name: "test", Slot: 3, Supervisor: process.ID{PID: 7, Birth: 70}, Ready: time.Unix(1, 0).UTC(), Took: "8s",
		Clusters: []ClusterState{{Name: "garden", Role: "garden", URL: "https://127.17.0.1:6443", Processes: []ProcessState{
			{Name: "garden/etcd", ID: process.ID{PID: 8, Birth: 80}, Log: "/l"},
		}}},
		Processes: []ProcessState{{Name: "cloud", ID: process.ID{PID: 9, Birth: 90}}},
		Links:     []LinkState{{Actor: "gardenlet-a", Target: "garden", URL: "https://127.16.1.1:8443"}},
	}
	if err := d.WriteState(want); err != nil {
		t.Fatal(err)
	}
	got, err := d.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := len(got.All()); got != 2 {
		t.Errorf("the state has %d processes, want 2", got)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	lock, _ := acquire(t, d)
	defer unlock(t, lock)
	err := d.checkSpace(math.MaxUint64)
	if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), HomeVariable) {
		t.Errorf("got %v, want ErrDiskFull and what to do", err)
	}
	if err := d.checkSpace(1); err != nil {
		t.Errorf("one byte does not fit: %v", err)
	}
}
