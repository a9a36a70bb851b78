package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/transplant-sim/transplant/clusters/cli"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/integrationtest"
)

// TestMain lets the test binary be transplant: commands run as processes of their own, which can be killed.
func TestMain(m *testing.M) {
	root := &cobra.Command{Use: "transplant"}
	root.AddCommand(cli.NewCommands(cli.Configure{})...)
	root.AddCommand(processnode.NewCommand())
	known := func(c *cobra.Command) bool { return len(os.Args) > 1 && c.Name() == os.Args[1] }
	if !slices.ContainsFunc(root.Commands(), known) {
		os.Exit(m.Run())
	}
	if root.Execute() != nil {
		os.Exit(1)
	}
}

// bound is how long any one command may take.
const bound = 2 * time.Minute

// home is a folder of landscapes that is empty at the end of the test, and so is the machine.
type home string

// newHome skips the test with -short: what needs a home starts a landscape in it.
func newHome(t *testing.T) home {
	t.Helper()
	integrationtest.Mark(t, "starts a landscape")
	// Longer than the name of a unix socket may be.
	h := home(filepath.Join(t.TempDir(), strings.Repeat("long", 20)))
	t.Cleanup(func() {
		for _, file := range h.landscapes(t) {
			if output, err := h.command("down", "--landscape="+file).CombinedOutput(); err != nil {
				t.Errorf("down %s: %v: %s", file, err, output)
			}
		}
		h.checkNothingLeft(t)
	})
	return h
}

func (h home) landscapes(t *testing.T) []string {
	t.Helper()
	locks, err := filepath.Glob(filepath.Join(string(h), "*.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for i, lock := range locks {
		locks[i] = strings.TrimSuffix(filepath.Base(lock), ".lock")
	}
	return locks
}

func (h home) command(args ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), rundir.HomeVariable+"="+string(h))
	command.WaitDelay = bound // the supervisor must not keep the output open
	return command
}

// run returns what a command prints; it must succeed.
func (h home) run(t *testing.T, args ...string) string {
	t.Helper()
	output, err := h.try(t, args...)
	if err != nil {
		t.Fatalf("transplant %s: %v: %s", strings.Join(args, " "), err, output)
	}
	return output
}

func (h home) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), bound)
	defer cancel()
	command := h.command(args...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Kill() })
	defer stop()
	err := command.Wait()
	return output.String(), err
}

func (h home) state(t *testing.T, name string) rundir.State {
	t.Helper()
	var state rundir.State
	if err := json.Unmarshal([]byte(h.run(t, "status", "-o=json", "--landscape="+name)), &state); err != nil {
		t.Fatal(err)
	}
	return state
}

func (h home) processes() []string {
	var found []string
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		content, _ := os.ReadFile(path)
		if strings.Contains(string(content), embedded.DirVariable+"="+string(h)) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, strings.ReplaceAll(string(command[:min(len(command), 100)]), "\x00", " "))
		}
	}
	return found
}

func (h home) checkNothingLeft(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		if left := h.processes(); len(left) > 0 {
			return fmt.Errorf("processes are left: %v", left)
		}
		return nil
	})
}

func eventually(t *testing.T, try func() error) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// checkPortsFree listens where the landscape did.
func checkPortsFree(t *testing.T, state rundir.State) {
	t.Helper()
	var endpoints []address.Endpoint
	for _, c := range state.Clusters {
		where, err := url.Parse(c.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range []uint16{2379, 2380, 6443, 10250} {
			endpoints = append(endpoints, address.Endpoint{
				Network: "tcp", AddrPort: netip.AddrPortFrom(netip.MustParseAddr(where.Hostname()), port), Purpose: "this test",
			})
		}
	}
	if err := address.CheckFree(t.Context(), endpoints); err != nil {
		t.Error(err)
	}
}

func TestLifeOfALandscape(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if output := h.run(t, "down"); !strings.Contains(output, "is not up") {
		t.Errorf("down of nothing says %q", output)
	}
	output := h.run(t, "up")
	t.Log(output)
	for _, want := range []string{"garden ", "a ", "b ", "https://127.", "export KUBECONFIG=", "is ready after"} {
		if !strings.Contains(output, want) {
			t.Errorf("up does not print %q: %s", want, output)
		}
	}
	state := h.state(t, "default")
	if got := len(state.All()); got != 15 {
		t.Errorf("the state has %d processes, want 15", got)
	}
	t.Run("UpAgain", func(t *testing.T) {
		before := descendants(t, state.Supervisor)
		if output, err := h.try(t, "up"); err == nil || !strings.Contains(output, "is up already") {
			t.Errorf("up of what is up: %v, %q", err, output)
		}
		if diff := cmp.Diff(before, descendants(t, state.Supervisor)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("Kubeconfig", func(t *testing.T) { testKubeconfig(t, h) })
	t.Run("Logs", func(t *testing.T) { testLogs(t, h) })
	t.Run("Abilities", func(t *testing.T) { testAbilities(t, h) })
	state = h.state(t, "default") // what has returned are new processes
	t.Run("Pod", func(t *testing.T) { startPod(t, h, "a") })
	t.Run("AnotherUser", func(t *testing.T) { testAnotherUserDoesNotStop(t, h) })
	t.Run("Status", func(t *testing.T) { testStatus(t, h, state) })
	t.Run("SupervisorKilled", func(t *testing.T) { testSupervisorKilled(t, h, state) })
	t.Run("Down", func(t *testing.T) {
		state := h.state(t, "default")
		if output := h.run(t, "down"); !strings.Contains(output, "nothing of it is left") {
			t.Errorf("down says %q", output)
		}
		h.checkNothingLeft(t)
		checkPortsFree(t, state)
		if _, err := os.Stat(filepath.Join(string(h), "default")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the run directory is still there: %v", err)
		}
	})
}

// descendants lists whom the supervisor has started, and whom they have started: pods, too.
func descendants(t *testing.T, supervisor process.ID) []process.ID {
	t.Helper()
	all, err := process.Descendants(supervisor.PID)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A cluster that is lost or frozen does not answer, and does when it has returned or goes on.
func testAbilities(t *testing.T, h home) {
	answers := func(cluster string, within time.Duration) error {
		client := clientOf(t, h, cluster) // by a command, which takes its time
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		return err
	}
	for _, pair := range []struct{ breaks, is, repairs, not string }{
		{"lose", "0 of 5 run, lost", "return", "thaw"}, {"freeze", "5 of 5 run, frozen", "thaw", "return"},
	} {
		if output := h.run(t, pair.breaks, "a", "b", "a"); strings.Count(output, "\n") != 2 {
			t.Errorf("%s says %q", pair.breaks, output)
		}
		if output := h.run(t, "status"); strings.Count(output, pair.is) != 2 {
			t.Errorf("after %s the status is %q", pair.breaks, output)
		}
		for _, mistake := range []string{pair.breaks, pair.not} {
			if output, err := h.try(t, mistake, "a"); err == nil || !strings.Contains(output, pair.repairs+" it") {
				t.Errorf("%s after %s: %v, %q", mistake, pair.breaks, err, output)
			}
		}
		for _, cluster := range []string{"a", "b"} {
			if err := answers(cluster, 3*time.Second); err == nil {
				t.Errorf("after %s cluster %q answers", pair.breaks, cluster)
			}
		}
		if err := answers("garden", bound); err != nil {
			t.Errorf("after %s of others the garden does not answer: %v", pair.breaks, err)
		}
		h.run(t, pair.repairs, "b", "a")
		for _, cluster := range []string{"a", "b"} {
			eventually(t, func() error { return answers(cluster, bound) })
		}
	}
	if output, err := h.try(t, "lose", "a", "elm"); err == nil || !strings.Contains(output, `"elm"`) {
		t.Errorf("lose of a cluster that is there and one that is not: %v, %q", err, output)
	}
	if output, err := h.try(t, "thaw", "a"); err == nil || !strings.Contains(output, "it is not frozen") {
		t.Errorf("thaw of a cluster that was spared: %v, %q", err, output)
	}
}

func startPod(t *testing.T, h home, cluster string) {
	clients := clientOf(t, h, cluster)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "sleeper"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "etcd", Image: embedded.ControlPlaneImage, Command: []string{"etcd", "--data-dir=/tmp/etcd"},
		}}},
	}
	if _, err := clients.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		pod, err := clients.CoreV1().Pods("default").Get(t.Context(), "sleeper", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("the pod is %+v", pod.Status)
		}
		return err
	})
}

func testSupervisorKilled(t *testing.T, h home, state rundir.State) {
	before := descendants(t, state.Supervisor)
	if len(before) < len(state.All()) { // the scheduler is dead, a pod lives
		t.Errorf("%d processes run", len(before))
	}
	if err := state.Supervisor.Kill(bound); err != nil {
		t.Fatal(err)
	}
	h.checkNothingLeft(t)
	eventually(t, func() error {
		for _, id := range before {
			if id.Alive() {
				return fmt.Errorf("process %d outlives the supervisor", id.PID)
			}
		}
		return nil
	})
	checkPortsFree(t, state)
	if output, err := h.try(t, "status"); err == nil || !strings.Contains(output, "its supervisor died") {
		t.Errorf("status of a dead landscape: %v, %q", err, output)
	}
	if output := h.run(t, "up", "--seeds=elm"); !strings.Contains(output, "cleared what an earlier landscape left") {
		t.Errorf("up after a dead landscape says %q", output)
	}
}

func clientOf(t *testing.T, h home, cluster string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(h.run(t, "kubeconfig", cluster)))
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func testKubeconfig(t *testing.T, h home) {
	if _, err := clientOf(t, h, "b").CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list namespaces with the printed kubeconfig: %v", err)
	}
	path := strings.TrimSpace(h.run(t, "kubeconfig", "b", "--path"))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the printed path %q: %v, %v; want a file of mode 600", path, info, err)
	}
	if output, err := h.try(t, "kubeconfig", "c"); err == nil || !strings.Contains(output, "garden, a, b") {
		t.Errorf("kubeconfig of an unknown cluster: %v, %q", err, output)
	}
	if output, err := h.try(t, "kubeconfig", "b", "--actor=ghost"); err == nil || !strings.Contains(output, `"ghost"`) {
		t.Errorf("kubeconfig of an unknown actor: %v, %q", err, output)
	}
}

func testLogs(t *testing.T, h home) {
	list := strings.Fields(h.run(t, "logs"))
	for _, name := range []string{"supervisor", "garden/etcd", "a/kube-apiserver", "b/kube-scheduler"} {
		if !slices.Contains(list, name) {
			t.Errorf("there is no log %q among %v", name, list)
		}
	}
	if output := h.run(t, "logs", "garden/etcd"); !strings.Contains(output, "ready to serve client requests") {
		t.Errorf("the log of etcd is %q", output)
	}
	if output, err := h.try(t, "logs", "garden/nginx"); err == nil || !strings.Contains(output, "garden/etcd") {
		t.Errorf("log of an unknown process: %v, %q", err, output)
	}
	follow := h.command("logs", "-f", "supervisor")
	output := &screenText{}
	follow.Stdout = output
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	output.await(t, "Landscape is ready")
	log, err := os.OpenFile(filepath.Join(string(h), "default", "supervisor.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.WriteString("written later\n"); err != nil {
		t.Fatal(err)
	}
	output.await(t, "written later")
	if err := follow.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := follow.Wait(); err != nil {
		t.Errorf("logs -f after Ctrl-C: %v, want no error", err)
	}
}

// screenText is what a running command has printed so far.
type screenText struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (s *screenText) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.Write(p)
}

func (s *screenText) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

func (s *screenText) await(t *testing.T, want string) {
	t.Helper()
	eventually(t, func() error {
		if got := s.String(); !strings.Contains(got, want) {
			return fmt.Errorf("%q has not been printed: %q", want, got)
		}
		return nil
	})
}

func testStatus(t *testing.T, h home, state rundir.State) {
	if output := h.run(t, "status"); strings.Count(output, "5 of 5 run") != 3 {
		t.Errorf("status is %q", output)
	}
	for _, p := range state.All() {
		if p.Name == "a/kube-scheduler" {
			if err := p.ID.Kill(bound); err != nil {
				t.Fatal(err)
			}
		}
	}
	if output, err := h.try(t, "status"); err == nil || !strings.Contains(output, "4 of 5 run") ||
		!strings.Contains(output, "a/kube-scheduler ended") {
		t.Errorf("status with a dead scheduler: %v, %q", err, output)
	}
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	taken := takeFirstFreeSlot(t)
	var states []rundir.State
	for _, name := range []string{"one", "two"} {
		output := h.run(t, "up", "--nodes=false", "--seeds=", "--landscape="+name)
		state := h.state(t, name)
		states = append(states, state)
		if state.Slot == int(taken) {
			t.Errorf("the landscape %q is in slot %d, where somebody else has a port", name, taken)
		}
		// It need not say so: an "up" of another test may have claimed that slot for the moment in which this one went by.
		if strings.Contains(output, "in an earlier one tcp ") && state.Slot < int(taken) {
			t.Errorf("the landscape %q is in slot %d, somebody else has a port in slot %d, and up says: %s", name, state.Slot,
				taken, output)
		}
	}
	if states[0].Slot == states[1].Slot || states[0].Clusters[0].URL == states[1].Clusters[0].URL {
		t.Errorf("two landscapes share slot or address: %+v", states)
	}
	h.run(t, "down", "--landscape=one")
	checkPortsFree(t, states[0])
	if got := len(h.processes()); got != 4 {
		t.Errorf("%d processes run after one of two landscapes has ended, want 4", got)
	}
	if _, err := net.DialTimeout("tcp", strings.TrimPrefix(states[1].Clusters[0].URL, "https://"), bound); err != nil {
		t.Errorf("the other landscape is gone: %v", err)
	}
}

// takeFirstFreeSlot takes a port that a garden would need in the slot that would be its own.
func takeFirstFreeSlot(t *testing.T) address.Slot {
	t.Helper()
	var listener net.Listener
	claim, err := address.Take(t.Context(), address.FirstOnes, func(slot address.Slot) ([]address.Endpoint, error) {
		garden, err := slot.Cluster(0)
		if err == nil {
			listener, err = net.Listen("tcp", netip.AddrPortFrom(garden.Node, 6443).String())
		}
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // nobody connects
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	return claim.Slot
}

// Whatever ends "up" before the landscape is ready, nothing stays.
func TestUpInterrupted(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			up := h.command("up", "--nodes=false", "--seeds=")
			output := &screenText{}
			up.Stdout, up.Stderr = output, output
			if err := up.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() error {
				if len(h.processes()) < 2 {
					return fmt.Errorf("etcd and kube-apiserver do not run: %s", output.String())
				}
				return nil
			})
			if err := up.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := up.Wait(); err == nil {
				t.Errorf("up succeeded although it got %v", signal)
			}
			if signal != syscall.SIGKILL { // then it has waited
				if left := h.processes(); len(left) > 0 {
					t.Errorf("when up has returned there are %v", left)
				}
				if !strings.Contains(output.String(), "everything has been stopped again") {
					t.Errorf("up says %q", output.String())
				}
			}
			h.checkNothingLeft(t)
		})
	}
}

// Errors reach the one who typed the command.
func TestUp_CannotStart_PrintsWhy(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	command := h.command("up", "--nodes=false", "--seeds=")
	command.Env = append(command.Env, "TRANSPLANT_KUBERNETES_BIN=/nowhere/controlplane")
	output, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "/nowhere/controlplane") {
		t.Errorf("up without a binary: %v, %q", err, output)
	}
	if output, err := h.try(t, "up", "--slot=28"); err == nil || !strings.Contains(output, "slots 0 to 27") {
		t.Errorf("up in a slot that is none: %v, %q", err, output)
	}
}
