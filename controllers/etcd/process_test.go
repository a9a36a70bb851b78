package etcd_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/tied"
	"github.com/transplant-sim/transplant/controllers/etcd"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// asGuard makes the test binary run the command etcd-guard, so that it can be frozen as a process.
const asGuard = "TRANSPLANT_TEST_AS_GUARD"

func TestMain(m *testing.M) {
	if os.Getenv(asGuard) != "" {
		command := etcd.NewGuardCommand()
		command.SetArgs(os.Args[1:])
		if err := command.ExecuteContext(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	apiservertest.Locate() // for package etcdtest
	os.Exit(m.Run())
}

const (
	lease  = "owner.alpha"
	record = "owner.alpha.p.shoots.transplant.test"
)

// authorities answers as the garden and the cloud do, with one record each.
type authorities struct {
	mu              sync.Mutex
	claim, decision ownership.Record
	down            bool
}

func (a *authorities) set(claim, decision ownership.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.claim, a.decision = claim, decision
}

func (a *authorities) setDown(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// ServeHTTP implements http.Handler for both.
func (a *authorities) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/apis/coordination.k8s.io/v1/namespaces/garden-p/leases/" + lease:
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
			"metadata": map[string]any{"name": lease, "namespace": "garden-p", "uid": "u", "resourceVersion": "1",
				"annotations": map[string]string{
					"transplant.dev/epoch": fmt.Sprint(a.claim.Epoch), "transplant.dev/seed": a.claim.Seed,
				}},
			"spec": map[string]any{"holderIdentity": a.claim.Owner},
		})
	case "/zones":
		_ = json.NewEncoder(w).Encode(map[string]any{"items": []map[string]any{{"id": "z1", "name": "test"},
			{"id": "z2", "name": "shoots.transplant.test"}}})
	case "/zones/z2/records/TXT/" + record:
		_ = json.NewEncoder(w).Encode(map[string]any{"version": 1, "name": record, "type": "TXT",
			"values": []string{a.decision.String()}})
	default:
		http.NotFound(w, r)
	}
}

// identitiesAnd gives all that a shoot's etcd CA signs certificates for, and the others.
func identitiesAnd(others ...access.Identity) []access.Identity {
	return slices.Concat(access.Clients(), []access.Identity{access.Gardenlet, access.APIServer, access.Guard}, others)
}

// newKeys makes a shoot's etcd CA, and a certificate for each identity.
func newKeys(t *testing.T, hosts ...string) pki.Folder {
	t.Helper()
	keys := pki.Folder(t.TempDir())
	authority, err := pki.NewAuthority("ca-etcd", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.WriteAuthority("ca", authority); err != nil {
		t.Fatal(err)
	}
	for _, identity := range identitiesAnd(unknown) {
		request := pki.Request{Name: string(identity)}
		if identity == access.Guard {
			request.Hosts = append(hosts, access.ServerName)
		}
		pair, err := authority.Issue(request, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := keys.WriteKeyPair(string(identity), pair); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func filesOf(keys pki.Folder, identity access.Identity) access.Files {
	return access.Files{CA: keys.Certificate("ca"), Cert: keys.Certificate(string(identity)),
		Key: keys.Key(string(identity))}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// guardProcess is the command etcd-guard as a process of its own.
type guardProcess struct {
	command     *exec.Cmd
	ended       chan struct{}
	endpoint    string
	http, api   string // what is open, and the API
	tls         *tls.Config
	keys        pki.Folder
	kubeconfig  string
	authorities *authorities
	etcd        *etcdtest.Etcd
}

var guardAddress atomic.Int32

// startGuard with a validity that a busy machine does not let lapse by itself.
func startGuard(t *testing.T, validity time.Duration) *guardProcess {
	t.Helper()
	ip := fmt.Sprintf("127.220.20.%d", guardAddress.Add(1))
	owner := ownership.Record{Owner: "uid-a", Epoch: 3, Seed: "a"}
	g := &guardProcess{endpoint: ip + ":2379", http: "http://" + ip + ":2381", api: "https://" + ip + ":2382",
		authorities: &authorities{}, etcd: etcdtest.Start(t, t.TempDir())}
	g.authorities.set(owner, owner)
	if err := datadir.Dir(g.etcd.DataDir).WriteEpoch(datadir.Epoch{Epoch: 3}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g.authorities)
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, kubeconfig, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: x,
  contexts: [{name: x, context: {cluster: x, user: x}}], users: [{name: x, user: {token: t}}],
  clusters: [{name: x, cluster: {server: %q}}]}`, server.URL))
	g.keys, g.kubeconfig = newKeys(t, ip), kubeconfig
	credentials, err := filesOf(g.keys, access.APIServer).Read(t.Context())
	if err == nil {
		g.tls, err = credentials.Client()
	}
	if err != nil {
		t.Fatal(err)
	}
	g.tls.NextProtos = nil
	files := filesOf(g.keys, access.Guard)
	g.command = exec.Command(os.Args[0], "--listen="+g.endpoint, "--http-listen="+ip+":2381", "--api-listen="+ip+":2382",
		"--endpoint="+g.etcd.Endpoint,
		"--ca-file="+files.CA, "--cert-file="+files.Cert, "--key-file="+files.Key, "--data-dir="+g.etcd.DataDir,
		"--garden-kubeconfig="+kubeconfig, "--cloud-kubeconfig="+kubeconfig, "--lease=garden-p/"+lease,
		"--owner-record="+record,
		"--owner=uid-a", "--epoch=3", "--owner-check-interval=200ms", "--owner-check-timeout="+validity.String(),
		"--backup-url=http://127.220.20.250:8080")
	g.command.Env = append(os.Environ(), asGuard+"=1")
	g.command.Stderr = &testLog{t: t}
	if err := tied.Start(g.command, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.ended = make(chan struct{})
	go func() {
		defer close(g.ended)
		_ = g.command.Wait() // its state is what counts
	}()
	t.Cleanup(func() {
		_ = g.command.Process.Kill()
		<-g.ended
	})
	g.is(t, http.StatusOK)
	return g
}

// testLog shows a process's log with the test's.
type testLog struct{ t *testing.T }

// Write implements io.Writer.
func (l *testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// is waits until the guard's readiness has the code.
func (g *guardProcess) is(t *testing.T, code int) {
	t.Helper()
	client := &http.Client{Timeout: time.Second}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-g.ended:
			t.Fatalf("the guard has ended: %v", g.command.ProcessState)
		default:
		}
		response, err := client.Get(g.http + "/readyz")
		if err != nil {
			continue
		}
		response.Body.Close()
		if response.StatusCode == code {
			return
		}
	}
	t.Fatalf("the guard's readiness does not become %d", code)
}

func (g *guardProcess) client(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + g.endpoint}, TLS: g.tls,
		Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func (g *guardProcess) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := g.command.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// writers put 1,000 keys and note when each was acknowledged.
type writers struct {
	mu       sync.Mutex
	acks     map[string]time.Time
	finished sync.WaitGroup
}

func (w *writers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acks)
}

func startWriters(ctx context.Context, client *clientv3.Client) *writers {
	w := &writers{acks: map[string]time.Time{}}
	var next atomic.Int32
	for range 8 {
		w.finished.Go(func() {
			for {
				n := next.Add(1)
				if n > 1000 {
					return
				}
				key := fmt.Sprintf("key/%04d", n)
				if _, err := client.Put(ctx, key, "x"); err == nil {
					w.mu.Lock()
					w.acks[key] = time.Now()
					w.mu.Unlock()
				}
			}
		})
	}
	return w
}

func TestGuardFrozenInTheMiddleOfWritesAnswersNothingLate(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(*authorities){
		"another owner meanwhile": func(a *authorities) {
			newer := ownership.Record{Owner: "uid-b", Epoch: 4, Seed: "b"}
			a.set(newer, newer)
		},
		"nobody to ask": func(a *authorities) { a.setDown(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGuard(t, 3*time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w := startWriters(ctx, g.client(t))
			for w.count() < 300 {
				time.Sleep(time.Millisecond)
			}
			g.signal(t, syscall.SIGSTOP)
			frozen := time.Now()
			after(g.authorities)
			<-time.After(4 * time.Second) // the validity is over
			before := w.count()
			thawed := time.Now()
			g.signal(t, syscall.SIGCONT)
			g.is(t, http.StatusServiceUnavailable)
			<-time.After(time.Second) // what is still on its way would come now
			cancel()
			w.finished.Wait()
			if late := w.count() - before; late > 0 {
				t.Errorf("%d writes were acknowledged after the guard was thawed", late)
			}
			if before >= 1000 {
				t.Errorf("all writes were acknowledged before the freeze: nothing was shown")
			}
			for key, at := range w.acks {
				if at.After(thawed) {
					t.Errorf("%s was acknowledged %v after the freeze", key, at.Sub(frozen))
				}
			}
			g.holds(t, w)
		})
	}
}

// holds looks for every acknowledged write in etcd itself.
func (g *guardProcess) holds(t *testing.T, w *writers) {
	t.Helper()
	answer, err := g.etcd.Client.Get(t.Context(), "key/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, kv := range answer.Kvs {
		there[string(kv.Key)] = true
	}
	for key := range w.acks {
		if !there[key] {
			t.Errorf("etcd lacks the acknowledged write %s", key)
		}
	}
}

func TestGuardFrozenForAMomentGoesOn(t *testing.T) {
	t.Parallel()
	g := startGuard(t, time.Minute)
	w := startWriters(t.Context(), g.client(t))
	for w.count() < 300 {
		time.Sleep(time.Millisecond)
	}
	g.signal(t, syscall.SIGSTOP)
	<-time.After(100 * time.Millisecond)
	g.signal(t, syscall.SIGCONT)
	w.finished.Wait()
	if n := w.count(); n != 1000 {
		t.Errorf("%d of 1000 writes were acknowledged", n)
	}
}

func TestGuardAsksForACertificate(t *testing.T) {
	t.Parallel()
	g := startGuard(t, time.Minute)
	g.tls = &tls.Config{RootCAs: g.tls.RootCAs}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := g.client(t).Get(ctx, "a"); err == nil {
		t.Error("a client without a certificate was served")
	}
}

func TestGuardRefusesTheDataOfAnotherEpoch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := datadir.Dir(dir).WriteEpoch(datadir.Epoch{Epoch: 2}); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	write(t, kubeconfig,
		`{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x}}], clusters: `+
			`[{name: x, cluster: {server: "http://127.220.20.251"}}]}`)
	command := etcd.NewGuardCommand()
	command.SetArgs([]string{
		"--endpoint=unix:///x", "--ca-file=x", "--cert-file=x", "--key-file=x", "--data-dir=" + dir, "--backup-url=x",
		"--garden-kubeconfig=" + kubeconfig, "--cloud-kubeconfig=" + kubeconfig, "--lease=a/b", "--owner-record=c",
		"--owner=uid-a", "--epoch=3",
	})
	command.SetErr(&testLog{t: t})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "belongs to epoch 2") {
		t.Errorf("error is %v", err)
	}
}
