package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/transplant-sim/transplant/clusters/executable/executabletest"
	"github.com/transplant-sim/transplant/clusters/integrationtest"
)

// landscape is one that was brought up with the built program, looked at with kubectl.
type landscape struct {
	home, kubectl string
	environment   []string        // of all commands
	marked        map[string]bool // UIDs of objects with a field that our types do not know
}

// newLandscape is one that is not up yet, in a home of its own. More may be in the environment of its commands.
func newLandscape(t *testing.T, more ...string) *landscape {
	t.Helper()
	log.SetLogger(logr.Discard()) // otherwise the first client prints the stack of its caller
	l := &landscape{home: t.TempDir(), marked: map[string]bool{}}
	l.environment = append(inHome(l.home), more...)
	built(t)
	l.kubectl = strings.TrimSpace(l.run(t, program, "controlplane"))
	return l
}

// inHome is the environment of commands whose landscapes are in a folder. Tests run beside each other, so each has one.
func inHome(folder string) []string { return append(os.Environ(), "TRANSPLANT_HOME="+folder) }

// up brings a landscape up; flags are more of the command's.
func (l *landscape) up(t *testing.T, flags ...string) {
	t.Helper()
	t.Cleanup(func() {
		command := exec.Command(program, "down", "--landscape", "e2e")
		command.Env = l.environment
		if said, err := command.CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, said)
		}
	})
	l.run(t, program, append([]string{"up", "--landscape", "e2e"}, flags...)...)
}

// building is for one at a time: a program that is there and up to date is not linked again.
var building sync.Mutex

// buildStatic makes a file of a program of this folder that needs no library of the machine.
func buildStatic(t *testing.T, folder, file string) error {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	kept := filepath.Join("..", "bin", "e2e", filepath.Base(folder))
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", kept, folder)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", folder, err, said)
	}
	content, err := os.ReadFile(kept)
	if err != nil {
		return err
	}
	return executabletest.Write(file, content)
}

// built is the path of the program. With -short, the test is skipped.
func built(t *testing.T) string {
	t.Helper()
	integrationtest.Mark(t, "runs the built program")
	path, err := filepath.Abs(program)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("the program is not built: run make build (%v)", err)
	}
	return path
}

func (l *landscape) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	said, err := l.try(t, nil, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, said)
	}
	return said
}

func (l *landscape) try(t *testing.T, input []byte, name string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = l.environment
	command.Stdin = bytes.NewReader(input)
	var said, wrong bytes.Buffer
	command.Stdout, command.Stderr = &said, &wrong
	err := command.Run()
	if strings.Contains(wrong.String(), "log.SetLogger(") {
		t.Errorf("%s %s: a log goes nowhere:\n%s", filepath.Base(name), strings.Join(args, " "), wrong.String())
	}
	if err != nil {
		return said.String() + wrong.String(), err
	}
	return said.String(), nil
}

// on runs kubectl against a cluster, or a shoot as its user.
func (l *landscape) on(t *testing.T, cluster string, args ...string) string {
	t.Helper()
	return l.run(t, l.kubectl, append([]string{"kubectl", "--kubeconfig", l.kubeconfig(t, cluster)}, args...)...)
}

func (l *landscape) kubeconfig(t *testing.T, cluster string) string {
	t.Helper()
	return strings.TrimSpace(l.run(t, program, "kubeconfig", cluster, "--path", "--landscape", "e2e"))
}

// shoot is the one that the README has its readers create, with fields that ours know nothing of.
func shoot(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile("../docs/examples/shoot.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const known = "  kubernetes: {version: 1.36.3}\n"
	if !strings.Contains(string(content), known) {
		t.Fatalf("the example has no %q", known)
	}
	return []byte(strings.Replace(string(content), known,
		"  kubernetes: {version: 1.36.3, futureSetting: kept}\n  futureField: {deep: [1, {er: 2}]}\n", 1))
}

// The commands of the documents can be pasted as they stand.
func TestGettingStarted_LandscapeThatStays_CanBePasted(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../docs/getting-started.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "\n## A landscape that stays\n")
	_, block, _ := strings.Cut(section, "\n```\n")
	block, _, found := strings.Cut(block, "\n```\n")
	ofKubectl := regexp.MustCompile("`(kubectl\\(\\) \\{.*})`").FindSubmatch(content)
	if !found || ofKubectl == nil {
		t.Fatal("the document has no such commands")
	}
	l := newLandscape(t)
	programs, err := filepath.Abs(filepath.Dir(program))
	if err != nil {
		t.Fatal(err)
	}
	l.environment = append(l.environment, "PATH="+programs+":"+os.Getenv("PATH"))
	t.Cleanup(func() { // if a command fails
		command := exec.Command(program, "down")
		command.Env = l.environment
		_, _ = command.CombinedOutput() // it fails if the landscape is down
	})
	const timeout = "--timeout=5m"
	if !strings.Contains(block, timeout) {
		t.Fatalf("no command has %s", timeout)
	}
	block = strings.ReplaceAll(block, timeout, fmt.Sprintf("--timeout=%dm", 5*multiplier)) // for slow machines
	said := l.run(t, "bash", "-euo", "pipefail", "-c", string(ofKubectl[1])+"\n"+block)
	for _, want := range []string{"shoot.core.gardener.cloud/alpha created", " Ready ", "condition met",
		"shoot.core.gardener.cloud/alpha patched", "garden-p/alpha  b ", `Cluster "b" is lost`, "garden-p/alpha  a "} {
		if !strings.Contains(said, want) {
			t.Errorf("the commands do not print %q:\n%s", want, said)
		}
	}
	if left := l.running(); len(left) > 0 {
		t.Errorf("down has left %q", left)
	}
}

// What a user does with a landscape, in one sitting: look, create, use, move, delete.
func TestALandscapeAsItsUsersSeeIt(t *testing.T) {
	t.Parallel()
	store := serveS3(t)
	l := newLandscape(t, store.keys...)
	l.up(t, "--bucket-url", store.url)
	t.Run("kubectl shows garden and seeds", l.shows)
	t.Run("limits are stock", l.limits)
	t.Run("project members do not see states", l.hidden)
	if said, err := l.try(t, shoot(t), l.kubectl, "kubectl", "--kubeconfig", l.kubeconfig(t, "garden"), "apply", "-f",
		"-"); err != nil {
		t.Fatalf("create the shoot: %v\n%s", err, said)
	}
	l.await(t, "Create/Succeeded a")
	t.Run("backups lie in the bucket of the flag", func(t *testing.T) { store.hasBackups(t, l) })
	t.Run("the keys of the backups are with the cloud alone", func(t *testing.T) { store.hasKeysInTheCloudAlone(t, l) })
	watched := l.watch(t)
	t.Run("kubectl shows the shoot and its control plane", l.showsShoot)
	t.Run("the shoot is used through the gateway", l.use)
	t.Run("every endpoint leads to the shoot", l.endpoints)
	t.Run("gateways of zones and exposure classes lead to the shoot", l.gateways)
	t.Run("new nodes have the mirrors that their owner asks for", l.mirrors)
	l.await(t, "Reconcile/Succeeded a")
	t.Run("a change of seed changes nothing else", l.guarded)
	l.marks(t, "garden", gardenKinds)
	l.keepsUnmodelledFields(t, "a")
	l.on(t, "garden", "patch", "shoot", "-n", "garden-p", "alpha", "--type=merge", "-p", `{"spec":{"seedName":"b"}}`)
	l.await(t, "Restore/Succeeded b")
	t.Run("the shoot is used after it has moved", l.use)
	l.keepsUnmodelledFields(t, "b")
	l.keep(t, "garden", gardenKinds, "a move")
	l.sleepsAndWakes(t, "b")
	t.Run("Prometheus sees the programs", watched.programs)
	l.goes(t)
	// After the deletion: panels about clean-ups have nothing to show before one.
	t.Run("Prometheus has seen what the programs do", watched.boards)
	if left := l.on(t, "garden", "get", "shootstates,shootstatechunks,backupentries,leases", "-n", "garden-p", "-o",
		"name"); left != "" {
		t.Errorf("the shoot is gone, but this is left of it:\n%s", left)
	}
	if left := l.on(t, "b", "get", "clusters.extensions.gardener.cloud,backupentries.extensions.gardener.cloud", "-o",
		"name"); left != "" {
		t.Errorf("the shoot is gone, but this is left of it on its seed:\n%s", left)
	}
}

// await waits until the shoot's last operation and seed are as said.
func (l *landscape) await(t *testing.T, want string) {
	t.Helper()
	l.awaits(t, `{.status.lastOperation.type}/{.status.lastOperation.state} {.status.seedName}`, want)
}

// awaits what a path shows of the shoot.
func (l *landscape) awaits(t *testing.T, path, want string) {
	t.Helper()
	seen := ""
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if seen = l.on(t, "garden", "get", "shoot", "-n", "garden-p", "alpha", "-o", "jsonpath="+path); seen == want {
			return
		}
	}
	t.Fatalf("the shoot is %q, want %q:\n%s", seen, want, l.on(t, "garden", "get", "shoot", "-n", "garden-p", "alpha",
		"-o", "yaml"))
}

func (l *landscape) shows(t *testing.T) {
	// each column has something
	for kind, want := range map[string]*regexp.Regexp{
		"seeds": regexp.MustCompile(`a +True +Reconcile +Succeeded +transplant +here +\w+ +v[^ ]+ +v1\.37\.2\nb +True `),
		// who sets a landscape up is the observer
		"projects": regexp.MustCompile(`p +garden-p +Ready +observer +observer `),
	} {
		shown := ""
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && !want.MatchString(shown); {
			shown = l.on(t, "garden", "get", kind)
		}
		if !want.MatchString(shown) {
			t.Errorf("kubectl get %s does not show %s:\n%s", kind, want, shown)
		}
	}
	if pods := l.on(t, "a", "get", "pods", "-A"); !strings.Contains(pods, "gardenlet") || !strings.Contains(pods,
		"Running") {
		t.Errorf("kubectl get pods on a seed shows:\n%s", pods)
	}
	if logs := l.on(t, "a", "logs", "-n", "garden", "deployment/gardenlet"); !strings.Contains(logs, "Starting workers") {
		t.Errorf("kubectl logs of the gardenlet shows:\n%s", logs)
	}
	version := l.on(t, "garden", "version")
	if strings.Count(version, "v1.37.2") != 2 {
		t.Errorf("kubectl version is wrong:\n%s", version)
	}
}

func (l *landscape) showsShoot(t *testing.T) {
	shown := l.on(t, "garden", "get", "shoots,seeds", "-A")
	for _, word := range []string{"garden-p", "shoot.core.gardener.cloud/alpha", "seed.core.gardener.cloud/a ",
		"seed.core.gardener.cloud/b "} {
		if !strings.Contains(shown, word) {
			t.Errorf("kubectl get shoots,seeds -A does not show %q:\n%s", word, shown)
		}
	}
	pods := l.on(t, "a", "get", "pods", "-A")
	for _, word := range []string{"shoot--p--alpha", "etcd-main-0", "kube-apiserver-"} {
		if !strings.Contains(pods, word) {
			t.Errorf("kubectl get pods -A on the seed does not show %q:\n%s", word, pods)
		}
	}
	if logs := l.on(t, "a", "logs", "-n", "shoot--p--alpha", "etcd-main-0", "-c", "guard"); !strings.Contains(logs,
		"Guard stands before etcd") {
		t.Errorf("kubectl logs of the guard shows:\n%s", logs)
	}
}

// The texts of docs/specification/state-size.md#spec-9-5 on the garden as it is.
func (l *landscape) limits(t *testing.T) {
	for name, c := range map[string]struct {
		kind, want string
		bytes      int
	}{
		"over 1.5 MiB":       {"ShootState", "etcdserver: request is too large", 3<<19 + 1000},
		"over 2 MiB":         {"ShootState", "trying to send message larger than max", 2<<20 + 1000},
		"over 3 MiB":         {"ShootState", "Request entity too large: limit is 3145728", 3<<20 + 1000},
		"ConfigMap of 1 MiB": {"ConfigMap", "may not be more than 1048576 bytes", 1<<20 + 1000},
		"Secret of 1 MiB":    {"Secret", "may not be more than 1048576 bytes", 1<<20 + 1000},
	} {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{
				"apiVersion": "core.gardener.cloud/v1beta1", "kind": "ShootState",
				"metadata": map[string]any{"name": "large", "namespace": "garden-p"},
				"spec": map[string]any{"extensions": []any{map[string]any{"kind": "Large", "name": "large",
					"state": map[string]any{"a": strings.Repeat("a", c.bytes)}}}},
			}
			if field := map[string]string{"ConfigMap": "data", "Secret": "stringData"}[c.kind]; field != "" {
				object["apiVersion"], object["kind"], object[field] = "v1", c.kind,
					map[string]any{"a": strings.Repeat("a", c.bytes)}
				delete(object, "spec")
			}
			content, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			said, err := l.try(t, content, l.kubectl, "kubectl", "--kubeconfig", l.kubeconfig(t, "garden"), "create", "-f", "-")
			if err == nil || !strings.Contains(said, c.want) {
				t.Errorf("got %v %.300s, want %q", err, said, c.want)
			}
		})
	}
}

// A member of a project works with its shoots, and never sees their states (docs/specification/state-size.md#z6).
func (l *landscape) hidden(t *testing.T) {
	l.on(t, "garden", "create", "rolebinding", "-n", "garden-p", "member",
		"--clusterrole=gardener.cloud:system:project-member", "--user=member")
	for resource, want := range map[string]string{
		"shoots.core.gardener.cloud": "yes", "shootstates.core.gardener.cloud": "no", "shootstatechunks.transplant.dev": "no",
	} {
		said, _ := l.try(t, nil, l.kubectl, "kubectl", "--kubeconfig", l.kubeconfig(t, "garden"),
			"auth", "can-i", "get", resource, "-n", "garden-p", "--as=member")
		if got := strings.TrimSpace(strings.Split(said, "\n")[0]); got != want {
			t.Errorf("may a member get %s? %q, want %q", resource, got, want)
		}
	}
}

func (l *landscape) use(t *testing.T) {
	nodes := l.on(t, "alpha", "get", "nodes")
	if !strings.Contains(nodes, " Ready ") {
		t.Errorf("kubectl get nodes of the shoot shows:\n%s", nodes)
	}
	name := fmt.Sprintf("used-%d", time.Now().UnixNano())
	l.on(t, "alpha", "create", "configmap", name, "--from-literal=k=v")
	if got := l.on(t, "alpha", "get", "configmap", name, "-o", "jsonpath={.data.k}"); got != "v" {
		t.Errorf("read %q, want what was written", got)
	}
}

// guarded: the admission server answers in the style of the Kubernetes API.
func (l *landscape) guarded(t *testing.T) {
	for patch, want := range map[string]string{
		`{"spec":{"seedName":"nowhere"}}`:                             "spec.seedName",
		`{"spec":{"seedName":"b","kubernetes":{"version":"1.36.4"}}}`: "spec",
		`{"spec":{"seedName":null}}`:                                  "seedName",
	} {
		said, err := l.try(t, nil, l.kubectl, "kubectl", "--kubeconfig", l.kubeconfig(t, "garden"),
			"patch", "shoot", "-n", "garden-p", "alpha", "--type=merge", "-p", patch)
		if err == nil || !strings.Contains(said, want) {
			t.Errorf("%s: got %v %q, want a refusal that names %s", patch, err, said, want)
		}
	}
}

// sleepsAndWakes sends the shoot to sleep and wakes it, by which nothing is lost that our types do not know.
func (l *landscape) sleepsAndWakes(t *testing.T, seed string) {
	t.Helper()
	for _, asleep := range []string{"true", "false"} {
		l.on(t, "garden", "patch", "shoot", "-n", "garden-p", "alpha", "--type=merge", "-p",
			`{"spec":{"hibernation":{"enabled":`+asleep+`}}}`)
		l.awaits(t, `{.status.hibernated} {.status.lastOperation.type}/{.status.lastOperation.state}`,
			asleep+" Reconcile/Succeeded")
		l.shootKeeps(t, "hibernated "+asleep)
		l.keep(t, seed, lastingKinds, "hibernated "+asleep)
	}
}

// goes: the shoot is deleted. A finalizer of somebody else's keeps the object, to be looked at when the flow is over.
func (l *landscape) goes(t *testing.T) {
	t.Helper()
	const keep = "e2e.test/keep"
	l.on(t, "garden", "patch", "shoot", "-n", "garden-p", "alpha", "--type=json", "-p",
		`[{"op":"add","path":"/metadata/finalizers/-","value":"`+keep+`"}]`)
	l.on(t, "garden", "delete", "shoot", "-n", "garden-p", "alpha", "--wait=false")
	l.awaits(t, `{.metadata.finalizers}`, `["`+keep+`"]`)
	l.shootKeeps(t, "at the end of its deletion")
	l.on(t, "garden", "patch", "shoot", "-n", "garden-p", "alpha", "--type=merge", "-p",
		`{"metadata":{"finalizers":null}}`)
	l.on(t, "garden", "wait", "shoot", "-n", "garden-p", "alpha", "--for=delete", "--timeout=120s")
}
