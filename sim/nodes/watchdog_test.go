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

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/link"
)

func TestWatchdogIsPatient(t *testing.T) {
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
		return map[string]*coordinationv1.Lease{"node-1": {Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: time.Unix(seconds, 0)}}}}
	}
	managed := map[string]*corev1.Node{"node-1": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{managedLabel: managedValue}}}}
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

// What the package comment says of kwok: a node that leaves its selection while it does not look stays alive for it.
// The watchdog must see that the dead node's lease is renewed, and end it.
func TestKwokMissesWhatItSleptThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent, _ := w.agent(t.TempDir())
	gone := w.machine("node-1", nil)
	w.machine("node-2", nil)
	w.uids("node-1", "node-2")
	w.renewed("node-1", "node-2")
	pid := w.kwokPID(agent)

	heal := w.proxy.Link(apiName).Inject(link.Cut{Refuse: true})
	w.check(w.cloud.Machines().Delete(t.Context(), gone.ID))
	patch := []byte(`{"metadata":{"labels":{"kwok.x-k8s.io/node":null}}}`)
	_, err := w.admin.CoreV1().Nodes().Patch(t.Context(), "node-1", types.MergePatchType, patch, metav1.PatchOptions{})
	w.check(err)
	// A new API server has no history, so kwok has to list again.
	w.stopAPIServer()
	w.startAPIServerAgain()
	heal()
	awake := time.Now()
	w.eventually("kwok renews the lease of the dead node", func() string {
		if w.kwokPID(agent) != pid || !w.renewal("node-1").After(awake) {
			return "it does not"
		}
		return ""
	})
	w.silent("node-1")
	w.renewed("node-2")
	if w.kwokPID(agent) == pid {
		t.Error("the dead node fell silent without a new kwok: kwok has learnt, and the watchdog can learn less")
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
		cut := w.proxy.Link(apiName).Begin(link.Cut{Direction: link.ToServer})
		w.pod(name, "node-1")
		w.eventually("something is held up", func() string {
			if cut.Touched() == 0 {
				return "nothing is"
			}
			return ""
		})
		if i == 0 {
			heal := w.proxy.Link(apiName).Inject(link.Reset{})
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

// The reason for a label selector: with an annotation selector kwok never lets go of a node.
func TestKwokByAnnotationNeverLetsGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder := t.TempDir()
	m := &machine{}
	m.ID, m.Hostname, m.PrivateIP, m.Type = "m-1", "node-1", "10.250.0.4", "small"
	m.data = userData(w)
	node, err := m.node()
	w.check(err)
	node.Annotations = map[string]string{managedLabel: managedValue}
	_, err = w.admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	w.check(err)

	config := filepath.Join(folder, "kwok.yaml")
	w.check(os.WriteFile(config, stages, 0o600))
	_, err = w.runner.Start(process.Spec{
		Name: "kwok", Path: w.server.Cluster.Binary, Dir: folder, Env: []string{"KWOK_WORKDIR=" + folder},
		Args: []string{
			"kwok", "--kubeconfig=" + w.adminKubeconfig(folder), "--config=" + config, "--node-lease-duration-seconds=8",
			"--manage-nodes-with-annotation-selector=" + managedLabel + "=" + managedValue,
		},
	})
	w.check(err)
	w.uids("node-1")
	patch := []byte(`{"metadata":{"annotations":{"kwok.x-k8s.io/node":null}}}`)
	_, err = w.admin.CoreV1().Nodes().Patch(t.Context(), "node-1", types.MergePatchType, patch, metav1.PatchOptions{})
	w.check(err)
	for range 3 {
		w.renewed("node-1")
	}
}
