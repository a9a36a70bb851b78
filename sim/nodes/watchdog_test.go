package nodes

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

func TestWatchdog_Overdue_BitesAfterTheLimit(t *testing.T) {
	t.Parallel()
	w, start := newWatchdog(40*time.Second), time.Now()
	late, none := map[string]bool{"the lease of node-1 is not renewed": true}, map[string]bool{}
	steps := []struct {
		name   string
		after  time.Duration
		undone map[string]bool
		blind  bool
		bites  bool
	}{
		{"seen first", 0, late, false, false},
		{"not long enough", 24 * time.Second, late, false, false},
		{"done meanwhile", 25 * time.Second, none, false, false},
		{"seen first again", 26 * time.Second, late, false, false},
		{"API server away meanwhile", 40 * time.Second, late, true, false},
		{"counted from its return", 64 * time.Second, late, false, false},
		{"long enough", 65 * time.Second, late, false, true},
		{"not so soon again", 124 * time.Second, late, false, false},
		{"soon enough", 126 * time.Second, late, false, true},
	}
	for _, step := range steps {
		if step.blind {
			w.blind()
		}
		if reason := w.look(start.Add(step.after), step.undone); (reason != "") != step.bites {
			t.Errorf("%s: reason is %q, want one: %v", step.name, reason, step.bites)
		}
	}
}

func TestWatchdogFindsZombies(t *testing.T) {
	t.Parallel()
	lease := func(seconds int64) map[string]*coordinationv1.Lease {
		return map[string]*coordinationv1.Lease{
			"node-1": {Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: time.Unix(seconds, 0)}}}}
	}
	managed := map[string]*corev1.Node{
		"node-1": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{managedLabel: managedValue}}}}
	silent := map[string]*corev1.Node{"node-1": {}}
	w := newWatchdog(40 * time.Second)
	for i, step := range []struct {
		nodes  map[string]*corev1.Node
		lease  int64
		zombie bool
	}{
		{managed, 1, false}, {managed, 2, false},
		{silent, 3, false}, // may have been renewed before it fell silent
		{silent, 3, false}, {silent, 4, true}, {silent, 4, true},
		{nil, 5, true}, // a node that is gone altogether
		{managed, 6, false}, {nil, 6, false}, {nil, 6, false},
	} {
		if found := w.zombies(step.nodes, lease(step.lease)); (len(found) > 0) != step.zombie {
			t.Errorf("step %d: found %v, want a zombie: %v", i, found, step.zombie)
		}
	}
}

func (w *world) kwokPID(agent *Agent) int {
	w.t.Helper()
	var pid int
	w.eventually("kwok runs", func() string {
		if pid = agent.Status().Shoots[0].KwokPID; pid == 0 {
			return "it does not"
		}
		return ""
	})
	return pid
}

// A kwok that hangs is started again, and one that is killed; the nodes stay as they were.
func TestKwokIsStartedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent, _ := w.agent(t.TempDir())
	w.machine("node-1", nil)
	uids := w.uids("node-1")
	w.renewed("node-1")
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		pid := w.kwokPID(agent)
		w.check(syscall.Kill(pid, signal))
		w.eventually("another kwok runs", func() string {
			if w.kwokPID(agent) == pid {
				return "it is the same"
			}
			return ""
		})
		w.renewed("node-1")
	}
	if now := w.uids("node-1"); now["node-1"] != uids["node-1"] {
		t.Error("the node was made again")
	}
}

// A pod whose start was on its way when the connection broke starts all the same.
func TestPodsStartAfterABrokenWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceAccount()
	w.agent(t.TempDir())
	w.machine("node-1", nil)
	uids := w.uids("node-1")
	w.renewed("node-1")
	for i, name := range []string{"reset", "silent"} {
		cut := w.proxy.Link(apiName).Begin(wire.Cut{Direction: wire.ToServer})
		w.pod(name, "node-1")
		w.eventually("something is held up", func() string {
			if cut.Hits() == 0 {
				return "nothing is"
			}
			return ""
		})
		if i == 0 {
			heal := w.proxy.Link(apiName).Inject(wire.Reset{})
			cut.Heal()
			heal()
		}
		cut.Heal()
		w.podState(name)
	}
	w.renewed("node-1")
	if now := w.uids("node-1"); now["node-1"] != uids["node-1"] {
		t.Error("the node was made again")
	}
}

// standalone runs kwok without an agent, with one node, and returns when that is alive.
func (w *world) standalone(selector string, c credentials) {
	w.t.Helper()
	folder := w.t.TempDir()
	m := &machine{data: userData(w)}
	m.ID, m.Hostname, m.PrivateIP, m.Type = "m-1", "node-1", "10.250.0.4", "small"
	node, err := m.node()
	w.check(err)
	node.Annotations = map[string]string{managedLabel: managedValue}
	_, err = w.admin.CoreV1().Nodes().Create(w.t.Context(), node, metav1.CreateOptions{})
	w.check(err)
	config, kubeconfig := filepath.Join(folder, "kwok.yaml"), filepath.Join(folder, "kubeconfig")
	w.check(os.WriteFile(config, stages, 0o600))
	w.check(clientcmd.WriteToFile(c.kubeconfig(), kubeconfig))
	_, err = w.runner.Start(process.Spec{
		Name: "kwok", Path: w.server.Cluster.Binary, Dir: folder,
		Env: []string{"KWOK_WORKDIR=" + folder, "HTTP2_READ_IDLE_TIMEOUT_SECONDS=5", "HTTP2_PING_TIMEOUT_SECONDS=3"},
		Args: []string{
			"kwok", "--kubeconfig=" + kubeconfig, "--config=kwok.yaml", "--node-lease-duration-seconds=8",
			"--manage-nodes-with-" + selector + "-selector=" + managedLabel + "=" + managedValue,
		},
	})
	w.check(err)
	w.uids("node-1")
	w.renewed("node-1")
}

// deselect takes label and annotation off, so that kwok should let go.
func (w *world) deselect() {
	w.t.Helper()
	patch := []byte(`{"metadata":{"labels":{"kwok.x-k8s.io/node":null},"annotations":{"kwok.x-k8s.io/node":null}}}`)
	_, err := w.admin.CoreV1().Nodes().Patch(w.t.Context(), "node-1", types.MergePatchType, patch, metav1.PatchOptions{})
	w.check(err)
}

// The package comment's reasons, on kwok alone. When one of these tests fails, kwok has learnt, and a part of this
// package can go.
func TestKwokByAnnotationNeverLetsGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.standalone("annotation", credentialsOf(&machine{data: userData(w)}, w.options()))
	w.deselect()
	for range 3 {
		w.renewed("node-1")
	}
}

func TestKwokByLabelLetsGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.standalone("label", credentialsOf(&machine{data: userData(w)}, w.options()))
	w.deselect()
	w.silent("node-1")
}

func TestKwokMissesWhatItSleptThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.standalone("label", credentialsOf(&machine{data: userData(w)}, w.options()))
	heal := w.proxy.Link(apiName).Inject(wire.Cut{Refuse: true})
	w.deselect()
	// A new API server has no history, so kwok has to list again.
	w.stopAPIServer()
	w.startAPIServerAgain()
	heal()
	for range 3 {
		w.renewed("node-1")
	}
}
