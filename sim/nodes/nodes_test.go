package nodes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/api/cloud"
)

// uids are those of the nodes by name, once all are ready.
func (w *world) uids(names ...string) map[string]string {
	w.t.Helper()
	uids := map[string]string{}
	for _, name := range names {
		w.eventually("node "+name+" is ready", func() string {
			node, err := w.admin.CoreV1().Nodes().Get(w.t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			if !ready(node) {
				return fmt.Sprint(node.Status.Conditions)
			}
			uids[name] = string(node.UID)
			return ""
		})
	}
	return uids
}

// renewal is when a lease was last renewed, and whether kwok holds it.
func (w *world) renewal(name string) (last time.Time, held bool) {
	lease, err := w.admin.CoordinationV1().Leases("kube-node-lease").Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil || lease.Spec.RenewTime == nil {
		return time.Time{}, false
	}
	return lease.Spec.RenewTime.Time, lease.Spec.HolderIdentity != nil
}

// renewed waits until the leases have been renewed after now, by kwok and not only from here before it starts.
func (w *world) renewed(names ...string) {
	w.t.Helper()
	since := time.Now()
	for _, name := range names {
		w.eventually("the lease of "+name+" is renewed", func() string {
			if last, held := w.renewal(name); !last.After(since) || !held {
				return fmt.Sprintf("last renewed %s ago, held: %t", time.Since(last), held)
			}
			return ""
		})
	}
}

func (w *world) pod(name, node string) {
	w.t.Helper()
	_, err := w.admin.CoreV1().Pods("default").Create(w.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, AutomountServiceAccountToken: new(bool),
			InitContainers: []corev1.Container{{Name: "init", Image: "busybox"}},
			Containers:     []corev1.Container{{Name: "app", Image: "nginx"}},
		},
	}, metav1.CreateOptions{})
	w.check(err)
}

// podState is what must not change while a control plane moves.
func (w *world) podState(name string) string {
	w.t.Helper()
	var state string
	w.eventually("pod "+name+" runs", func() string {
		pod, err := w.admin.CoreV1().Pods("default").Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if pod.Status.Phase != corev1.PodRunning {
			return string(pod.Status.Phase)
		}
		status, err := json.Marshal(pod.Status)
		state = string(pod.UID) + " " + string(status)
		return textOf(err)
	})
	return state
}

// TestPodsAreReadyAgain: what the shoot's controllers say of the pods of a node that was not heard of is put right by
// the node, and nothing else of the pods changes.
func TestPodsAreReadyAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceAccount()
	w.agent(filepath.Join(t.TempDir(), "a folder, with a comma"))
	w.machine("node-1", nil)
	w.uids("node-1")
	w.pod("web", "node-1")
	w.podState("web")
	read := func() *corev1.Pod {
		pod, err := w.admin.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
		w.check(err)
		return pod
	}
	readiness := func(pod *corev1.Pod) *corev1.PodCondition {
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		return &pod.Status.Conditions[i]
	}
	before := read()
	doubted := before.DeepCopy()
	readiness(doubted).Status = corev1.ConditionFalse
	_, err := w.admin.CoreV1().Pods("default").UpdateStatus(t.Context(), doubted, metav1.UpdateOptions{})
	w.check(err)
	w.eventually("the pod is ready again", func() string {
		return cmp.Diff(corev1.ConditionTrue, readiness(read()).Status)
	})
	after := read()
	readiness(before).LastTransitionTime = readiness(after).LastTransitionTime
	if diff := cmp.Diff(before.Status, after.Status) + cmp.Diff(before.UID, after.UID); diff != "" {
		t.Errorf("the pod has changed: %s", diff)
	}
}

func (w *world) serviceAccount() {
	_, err := w.admin.CoreV1().ServiceAccounts("default").Create(w.t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	w.check(err)
}

// Three machines become nodes that stay the same nodes, with the same pods, while their API server is away, while its
// name cannot be resolved, and when `transplant nodes` itself starts again.
func TestWorkersOutliveTheirControlPlane(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceAccount()
	root := t.TempDir()
	agent, end := w.agent(root)
	names := []string{"node-1", "node-2", "node-3"}
	var machines []*cloud.Machine
	for _, name := range names {
		machines = append(machines, w.machine(name, nil))
	}
	uids := w.uids(names...)
	w.checkNode(machines[0])
	w.checkDisk(root, machines[0])
	w.pod("web", "node-1")
	pod := w.podState("web")
	w.renewed(names...)

	same := func(after string) {
		t.Helper()
		if diff := cmp.Diff(uids, w.uids(names...)); diff != "" {
			t.Errorf("nodes changed after %s: %s", after, diff)
		}
		if now := w.podState("web"); now != pod {
			t.Errorf("pod changed after %s: %s, was %s", after, now, pod)
		}
	}

	w.stopAPIServer()
	w.eventually("the agent notices", func() string {
		if status := agent.Status(); status.Shoots[0].Error == "" {
			return "no error"
		}
		return ""
	})
	w.startAPIServerAgain()
	w.renewed(names...)
	same("its API server was away")

	w.absent.Store(true)
	w.proxy.Link(apiName).Stats()
	w.stopAPIServer()
	w.startAPIServerAgain()
	w.absent.Store(false)
	w.renewed(names...)
	same("its name was away")

	end()
	agent, _ = w.agent(root)
	w.renewed(names...)
	same("the agent was away")
	w.eventually("the agent knows its nodes", func() string {
		return cmp.Diff(uids, statusUIDs(agent))
	})
	w.pod("late", "node-2")
	w.podState("late")
	since := time.Now()
	w.eventually("the agents of the nodes say that they run", func() string {
		for _, name := range names {
			lease, err := w.admin.CoordinationV1().Leases("kube-system").Get(t.Context(), "gardener-node-agent-"+name,
				metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			if owner := lease.OwnerReferences[0].UID; string(owner) != uids[name] || !lease.Spec.RenewTime.After(since) {
				return fmt.Sprintf("the lease of %s's agent is of node %s and was renewed at %s", name, owner, lease.Spec.RenewTime)
			}
		}
		return ""
	})
}

func statusUIDs(agent *Agent) map[string]string {
	uids := map[string]string{}
	for _, s := range agent.Status().Shoots {
		for _, n := range s.Nodes {
			if n.Ready && !n.LastHeartbeat.IsZero() {
				uids[n.Node] = n.UID
			}
		}
	}
	return uids
}

func (w *world) checkNode(m *cloud.Machine) {
	w.t.Helper()
	node, err := w.admin.CoreV1().Nodes().Get(w.t.Context(), m.Hostname, metav1.GetOptions{})
	w.check(err)
	got := map[string]string{
		"providerID": node.Spec.ProviderID, "pool": node.Labels["worker.gardener.cloud/pool"],
		"zone":    node.Labels["topology.kubernetes.io/zone"],
		"version": node.Status.NodeInfo.KubeletVersion, "cpu": node.Status.Capacity.Cpu().String(),
		"address": node.Status.Addresses[0].Address,
	}
	want := map[string]string{
		"providerID": "transplant:///" + m.ID, "pool": "worker", "zone": "z1", "version": "v1.36.3", "cpu": "4",
		"address": m.PrivateIP,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Error(diff)
	}
	taint := corev1.Taint{Key: "node.gardener.cloud/critical-components-not-ready", Effect: "NoSchedule"}
	if len(node.Spec.Taints) == 0 || node.Spec.Taints[0] != taint {
		w.t.Errorf("taints are %v, want %v first", node.Spec.Taints, taint)
	}
}

func (w *world) checkDisk(root string, m *cloud.Machine) {
	w.t.Helper()
	for name, want := range map[string]struct {
		content string
		mode    os.FileMode
	}{"etc/containerd/config.toml": {"version = 3\n", 0o640}, "etc/password": {"secret", 0o600}} {
		path := filepath.Join(root, m.ID, name)
		content, err := os.ReadFile(path)
		w.check(err)
		info, err := os.Stat(path)
		w.check(err)
		if string(content) != want.content || info.Mode().Perm() != want.mode {
			w.t.Errorf("%s holds %q with mode %s", name, content, info.Mode())
		}
	}
	if _, err := os.Stat(filepath.Join(root, m.ID, "etc/systemd/system/kubelet.service")); err != nil {
		w.t.Error(err)
	}
}

// A terminated machine falls silent, also when that happens while nobody can reach the API server; its Node stays for
// others to delete, and the other nodes live on.
func TestTerminatedMachinesFallSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := t.TempDir()
	w.agent(root)
	first, second, third := w.machine("node-1", nil), w.machine("node-2", nil), w.machine("node-3", nil)
	w.uids("node-1", "node-2", "node-3")
	w.renewed("node-1", "node-2", "node-3")

	w.check(w.cloud.Machines().Delete(t.Context(), first.ID))
	w.silent("node-1")

	w.stopAPIServer()
	w.check(w.cloud.Machines().Delete(t.Context(), second.ID))
	w.eventually("the disk of the second machine is gone", func() string {
		if _, err := os.Stat(filepath.Join(root, second.ID)); err == nil {
			return "it is there"
		}
		return ""
	})
	w.startAPIServerAgain()
	w.silent("node-2")
	w.renewed("node-3")
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		if _, err := w.admin.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("the Node of a machine is not left alone: %v", err)
		}
	}

	w.check(w.admin.CoreV1().Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}))
	w.check(w.cloud.Machines().Delete(t.Context(), third.ID))
	w.silent("node-3")
}

// silent waits until a lease has not been renewed for as long as it lasts.
func (w *world) silent(name string) {
	w.t.Helper()
	w.eventually("the lease of "+name+" runs out", func() string {
		if last, _ := w.renewal(name); time.Since(last) < leaseSeconds*time.Second {
			return fmt.Sprintf("renewed %s ago", time.Since(last))
		}
		return ""
	})
}

// A Node that a restore of etcd has lost comes back after a while; a Node of another machine's is not taken over.
func TestLostNodesRegisterAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent, _ := w.agent(t.TempDir())
	w.machine("node-1", nil)
	uids := w.uids("node-1")
	w.check(w.admin.CoreV1().Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}))
	w.eventually("the agent misses the node", func() string {
		if status := agent.Status(); status.Shoots[0].Error == "" {
			return "no error"
		}
		return ""
	})
	if _, err := w.admin.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node was registered again at once: %v", err)
	}
	if again := w.uids("node-1"); again["node-1"] == uids["node-1"] {
		t.Error("the node is the deleted one")
	}
	w.renewed("node-1")

	w.machine("node-1", nil)
	w.eventually("the agent refuses the name", func() string {
		if err := agent.Status().Shoots[0].Error; err == "" {
			return "no error"
		}
		return ""
	})
	w.renewed("node-1")
}

// A refused token is replaced by that of another machine; user data that is none is said so and harms nobody.
func TestCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent, _ := w.agent(t.TempDir())
	w.machine("node-1", nil)
	w.uids("node-1")
	w.machine("node-2", func(d *cloud.NodeUserData) { d.Token = "refused" })
	w.uids("node-2")
	text := `{"shoot":"shoot--p--alpha"}`
	odd, err := w.cloud.Machines().Create(t.Context(), &cloud.Machine{Type: "small", UserData: text})
	w.check(err)
	w.eventually("the odd machine is reported", func() string {
		if agent.Status().Machines[odd.ID] == "" {
			return "it is not"
		}
		return ""
	})
	if _, err := w.cloud.RebootMachine(t.Context(), odd.ID); err != nil {
		t.Fatal(err)
	}
	w.renewed("node-1", "node-2")
}

func TestRebootShowsInTheNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent(t.TempDir())
	m := w.machine("node-1", nil)
	uids := w.uids("node-1")
	bootID := func() string {
		node, err := w.admin.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		w.check(err)
		return node.Status.NodeInfo.BootID
	}
	before := bootID()
	_, err := w.cloud.RebootMachine(t.Context(), m.ID)
	w.check(err)
	w.eventually("the boot id changes", func() string {
		if bootID() == before {
			return "it is the same"
		}
		return ""
	})
	if diff := cmp.Diff(uids, w.uids("node-1")); diff != "" {
		t.Errorf("the node was made again: %s", diff)
	}
}

// TestPatchUpdateKeepsTheNodes: nodes get another kubelet by the Secret of their own key, and stay what they
// are.
func TestPatchUpdateKeepsTheNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := t.TempDir()
	w.agent(root)
	w.namespaceExists(metav1.NamespaceSystem)
	key := func(name string) func(*cloud.NodeUserData) {
		return func(data *cloud.NodeUserData) { data.AgentSecret = name }
	}
	first := w.machine("node-1", key("gardener-node-agent-a-1"))
	w.machine("node-2", key("gardener-node-agent-b-1"))
	uids := w.uids("node-1", "node-2")
	_, err := w.admin.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: "gardener-node-agent-a-1", Labels: map[string]string{"gardener.cloud/role": "operating-system-config"},
			Annotations: map[string]string{"checksum/data-script": "sum"},
		},
		Data: map[string][]byte{"config.json": []byte(`{"kubeletVersion":"v1.36.4",
			"files":[{"path":"/etc/acme/hook","content":"YQ=="},{"path":"/etc/acme/stays","content":"Yg=="},
			{"path":"/etc/acme/others","content":"Yw==","hostName":"node-9"}]}`)},
	}, metav1.CreateOptions{})
	w.check(err)
	read := func(name string) *corev1.Node {
		node, err := w.admin.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		w.check(err)
		return node
	}
	version := func(name string) string { return read(name).Status.NodeInfo.KubeletVersion }
	w.eventually("the kubelet of node-1 moves", func() string {
		if got := version("node-1"); got != "v1.36.4" {
			return "it is at " + got
		}
		return ""
	})
	const applied = "checksum/cloud-config-data"
	w.eventually("node-1 says what it has applied", func() string {
		return cmp.Diff("sum", read("node-1").Annotations[applied])
	})
	if secret, sum := read("node-1").Labels["worker.gardener.cloud/gardener-node-agent-secret-name"],
		read("node-2").Annotations[applied]; secret != "gardener-node-agent-a-1" || sum != "" {
		t.Errorf("node-1 follows %q, and node-2, which got no configuration, has applied %q", secret, sum)
	}
	onDisk := func() []string {
		found, err := filepath.Glob(filepath.Join(root, first.ID, "etc/acme/*"))
		w.check(err)
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		return found
	}
	if diff := cmp.Diff([]string{"hook", "stays"}, onDisk()); diff != "" {
		t.Errorf("files that node-1 has applied (-want +got):\n%s", diff)
	}
	secrets := w.admin.CoreV1().Secrets(metav1.NamespaceSystem)
	next, err := secrets.Get(t.Context(), "gardener-node-agent-a-1", metav1.GetOptions{})
	w.check(err)
	next.Annotations["checksum/data-script"] = "next"
	next.Data["config.json"] = []byte(`{"kubeletVersion":"v1.36.4","files":[{"path":"/etc/acme/stays","content":"Yg=="}]}`)
	_, err = secrets.Update(t.Context(), next, metav1.UpdateOptions{})
	w.check(err)
	w.eventually("node-1 applies the next configuration", func() string {
		return cmp.Diff("next", read("node-1").Annotations[applied])
	})
	if diff := cmp.Diff([]string{"stays"}, onDisk()); diff != "" {
		t.Errorf("files of node-1 after the next configuration (-want +got):\n%s", diff)
	}
	w.machine("node-3", key("gardener-node-agent-a-1"))
	w.uids("node-3")
	if sum := read("node-3").Annotations[applied]; sum != "next" {
		t.Errorf("a new node has applied %q", sum)
	}
	if got := version("node-2"); got != "v1.36.3" {
		t.Errorf("the kubelet of node-2, which got no configuration, is at %s", got)
	}
	if diff := cmp.Diff(uids, w.uids("node-1", "node-2")); diff != "" {
		t.Errorf("the nodes were made again: %s", diff)
	}
}
