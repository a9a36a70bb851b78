//go:build docker

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
	"github.com/transplant-sim/transplant/e2e/knocktest"
)

const (
	attackedShoot = "alpha" // of the scenario, which has moved it to seed b
	elsewhere     = "elsewhere"
	ownAccount    = "system:serviceaccount:" + elsewhere + ":default"
)

// podAttack is on a shoot on kind, from pods of its seed that are in another namespace.
type podAttack struct {
	*landscape
	dir     rundir.Dir
	state   rundir.State
	seed    client.Client
	node    string     // of the seed: the name of its container
	prefix  string     // of the names of all containers
	host    netip.Addr // where containers reach this machine
	etcd    string     // the addresses of pods
	api     string
	machine string
	sockets []netip.AddrPort // that listen in pods of the seed
}

// Guard, sidecar, etcd, cloud, API servers, links and the observer's ways refuse pods of another namespace, with the
// token of their ServiceAccount and without one, and the shoot goes on. What listens in a pod of ours, and what the run
// itself opens, is attacked. The landscape is that of two scenarios, which share it; the second has moved the shoot.
func TestKind_AttacksFromPods_AreRefused(t *testing.T) {
	p := &podAttack{landscape: newLandscape(t)}
	p.runKept(t, "../out/kind", "../scenarios/loss/seed-loss.yaml", "../scenarios/migration/planned-migration.yaml")
	p.find(t)
	p.startPods(t)
	before := p.stands(t)
	t.Run("with the right credentials", func(t *testing.T) { p.make(t, "bare", p.controls(t)) })
	for pod, refusals := range map[string]refusals{
		"bare": {here: anonymous, other: anonymous, kubelet: status(http.StatusUnauthorized, "Unauthorized")},
		"account": {
			here: status(http.StatusForbidden, ownAccount), other: status(http.StatusUnauthorized, "Unauthorized"),
			kubelet: status(http.StatusForbidden, ownAccount),
		},
	} {
		t.Run(pod, func(t *testing.T) {
			all := p.attacks(t, refusals)
			p.covers(t, all)
			p.make(t, pod, all)
		})
	}
	t.Run("the shoot goes on", func(t *testing.T) {
		if diff := cmp.Diff(before, p.stands(t)); diff != "" {
			t.Errorf("the attacks have changed something (-before +after):\n%s", diff)
		}
		p.use(t)
	})
}

// refusals of an attacker's credentials: by the API server of the pod's own cluster, by the others, and by the kubelet.
type refusals struct{ here, other, kubelet func(error) error }

func (r refusals) of(cluster string) func(error) error {
	if cluster == "b" {
		return r.here
	}
	return r.other
}

// runKept runs scenarios, and goes on when all have their verdicts and the landscape of the last is kept. At the end of
// the test the landscape ends, and the scenarios must have passed.
func (l *landscape) runKept(t *testing.T, out string, scenarios ...string) {
	t.Helper()
	// Deadlines and goals are as long as the slowest machine needs: how fast a move is, "make scenario" shows.
	args := append([]string{"run", "--backend", rundir.Kind, "--landscape", "e2e", "--keep", "--out", out,
		"--timeout-multiplier", "12"}, scenarios...)
	if seed := os.Getenv("SEED"); seed != "" {
		args = append(args, "--seed", seed)
	}
	run := startUntil(t, l.environment, "is kept; interrupt to end it", program, args...)
	t.Cleanup(func() {
		if said, err := run.interrupt(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, said)
		}
	})
	if !run.reached {
		t.Fatal("the run has ended early")
	}
}

// find what is attacked.
func (p *podAttack) find(t *testing.T) {
	t.Helper()
	p.dir = rundir.At("e2e", filepath.Join(p.home, "e2e"))
	var err error
	if p.state, err = p.dir.ReadState(); err != nil {
		t.Fatal(err)
	}
	p.node = p.on(t, "b", "get", "nodes", "-o", "jsonpath={.items[0].metadata.name}")
	p.prefix = strings.TrimSuffix(p.node, "b-control-plane")
	p.machine = strings.TrimPrefix(p.on(t, attackedShoot, "get", "nodes", "-o", "jsonpath={.items[0].spec.providerID}"),
		"transplant:///")
	if p.prefix == p.node || p.machine == "" || len(p.state.Links) < 10 {
		t.Fatalf("node %q, machine %q, %d links", p.node, p.machine, len(p.state.Links))
	}
	at, err := netip.ParseAddrPort(addressOf(p.state.Links[0].URL))
	if err == nil {
		p.host = at.Addr()
		p.seed, err = client.New(p.config(t, "b"), client.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	pods := &corev1.PodList{}
	if err := p.seed.List(t.Context(), pods); err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{}
	for _, pod := range pods.Items {
		// kind brings its own pods along.
		ours[pod.Status.PodIP] = !pod.Spec.HostNetwork && !strings.HasPrefix(pod.Namespace, "kube-") &&
			pod.Namespace != "local-path-storage"
		switch role := pod.Labels[constants.LabelRole]; {
		case pod.Namespace != technicalID(attackedShoot):
		case role == workload.Etcd:
			p.etcd = pod.Status.PodIP
		case role == workload.KubeAPIServer:
			p.api = pod.Status.PodIP
		}
	}
	p.sockets = slices.DeleteFunc(p.listening(t), func(s netip.AddrPort) bool { return !ours[s.Addr().String()] })
	if p.etcd == "" || p.api == "" {
		t.Fatalf("etcd is at %q, the API server at %q", p.etcd, p.api)
	}
}

func (l *landscape) config(t *testing.T, cluster string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig(t, cluster))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// attackingPod has nothing in its image that it needs: the program is on its node.
const attackingPod = `
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: ` + elsewhere + `}
spec:
  automountServiceAccountToken: %t
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532}
  containers:
  - name: attacker
    image: transplant.dev/transplant:dev
    imagePullPolicy: Never
    command: [/attacker, wait]
    volumeMounts: [{name: program, mountPath: /attacker, readOnly: true}]
  volumes: [{name: program, hostPath: {path: /attacker, type: File}}]
---`

// startPods in a namespace of their own: "account" has the token of its ServiceAccount, "bare" has none.
func (p *podAttack) startPods(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "attacker")
	if err := buildStatic(t, "./attacker", file); err != nil {
		t.Fatal(err)
	}
	p.run(t, "docker", "cp", file, p.node+":/attacker")
	p.on(t, "b", "create", "namespace", elsewhere)
	p.on(t, "b", "wait", "serviceaccount/default", "-n", elsewhere, "--for=create", "--timeout=60s")
	pods := fmt.Sprintf(attackingPod, "bare", false) + fmt.Sprintf(attackingPod, "account", true)
	if said, err := p.try(t, []byte(pods), p.kubectl, "kubectl", "--kubeconfig", p.kubeconfig(t, "b"), "apply", "-f",
		"-"); err != nil {
		t.Fatalf("create the pods: %v\n%s", err, said)
	}
	p.on(t, "b", "wait", "pod", "--all", "-n", elsewhere, "--for=condition=Ready", "--timeout=120s")
}

// ask has a pod make attempts.
func (p *podAttack) ask(t *testing.T, pod string, attempts ...knocktest.Attempt) (outcomes []knocktest.Outcome) {
	t.Helper()
	content, err := json.Marshal(attempts)
	if err != nil {
		t.Fatal(err)
	}
	said, err := p.try(t, content, p.kubectl, "kubectl", "--kubeconfig", p.kubeconfig(t, "b"), "exec", "-i", "-n",
		elsewhere, pod, "--", "/attacker")
	if err == nil {
		err = json.Unmarshal([]byte(said), &outcomes)
	}
	if err != nil || len(outcomes) != len(attempts) {
		t.Fatalf("pod %s has %d outcomes of %d attempts: %v\n%s", pod, len(outcomes), len(attempts), err, said)
	}
	return outcomes
}

// make the attempts in a pod, and say which do not end as they should.
func (p *podAttack) make(t *testing.T, pod string, all []tried) {
	t.Helper()
	attempts := make([]knocktest.Attempt, len(all))
	for i, try := range all {
		attempts[i] = try.attempt
	}
	for i, outcome := range p.ask(t, pod, attempts...) {
		if err := all[i].refused(outcome.Err()); err != nil {
			t.Errorf("%s: %v", all[i].name, err)
		}
	}
	t.Logf("%d attempts", len(all))
}

// letIn is what is wanted where everybody may ask, or whoever has the right credentials.
func letIn(err error) error {
	if err != nil {
		return wanted("an answer", err)
	}
	return nil
}

// stands is what the attacks must leave as it is, in words.
func (p *podAttack) stands(t *testing.T) map[string]string {
	t.Helper()
	asked := p.ask(t, "bare", p.guarded(t, access.Observer, http.MethodGet, validity.PathState).attempt,
		p.onCloud("GET", "/fences", tokensOfCloud(t, p.dir)["observer"].Token))
	guard := validity.Answer{}
	for _, outcome := range asked {
		if err := outcome.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal([]byte(asked[0].Body), &guard); err != nil || guard.State != validity.Serving {
		t.Fatalf("the guard says %q: %v", asked[0].Body, err)
	}
	namespace := technicalID(attackedShoot)
	return map[string]string{
		"guard": fmt.Sprint(guard.Owner, guard.Epoch, guard.BootID), "fences in the cloud": asked[1].Body,
		"claim": p.on(t, "garden", "get", "lease", "-n", "garden-p", "owner."+attackedShoot, "-o", "jsonpath={.spec}"),
		"shoot": p.on(t, "garden", "get", "shoot", "-n", "garden-p", attackedShoot, "-o",
			"jsonpath={.spec.seedName} {.status.seedName}"),
		"machines": p.on(t, attackedShoot, "get", "nodes", "-o", "jsonpath={.items[*].spec.providerID}"),
		"pods": p.on(t, "b", "get", "pods", "-n", namespace, "-o", `jsonpath={range .items[*]}{.metadata.name} `+
			`{.metadata.uid} {.status.containerStatuses[*].restartCount}{"\n"}{end}`),
	}
}

// covers says which sockets of pods, and of the containers beside the clusters, nobody attacks. Each port that a
// landscape is known to have must be among them.
func (p *podAttack) covers(t *testing.T, all []tried) {
	t.Helper()
	attacked, ports := map[string]bool{}, map[int]bool{}
	for _, try := range all {
		attacked[try.attempt.Address] = true
	}
	listens := func(address string, port uint16) {
		ports[int(port)] = true
		if !attacked[address] {
			t.Errorf("somebody listens at %s, and no attack says who is let in there", address)
		}
	}
	for _, socket := range p.sockets {
		listens(socket.String(), socket.Port())
	}
	for _, companion := range p.state.Processes {
		for _, socket := range networkOf(t, companion.PID) {
			if port := socket.Address.Port(); !socket.Address.Addr().IsLoopback() {
				listens(at(p.prefix+companion.Name, int(port)), port)
			}
		}
	}
	for _, port := range []int{2379, 2380, 2381, access.GuardPort, 5353, 8080, access.SidecarPort, 6443, 8132, 8443, 9443,
		9100, 10250, 10443} {
		if !ports[port] {
			t.Errorf("nobody listens at port %d: %v", port, p.sockets)
		}
	}
}
