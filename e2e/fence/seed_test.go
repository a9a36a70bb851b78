package fence_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// timing is short, so that the test is, and long enough for a machine with all cores busy.
var timing = ownership.Timing{Interval: 500 * time.Millisecond, Timeout: 4 * time.Second}

const (
	epoch = 1
	token = "shoot-admin"
	// name is one of those in the certificate of an API server.
	name = "kubernetes.default.svc"
)

// seed is the old owner of one shoot: its control plane and its gateway, each program a process of its own.
type seed struct {
	*host
	shoot     string
	dir       string // of everything but etcd's socket, whose path must be short
	socket    string
	data      datadir.Dir
	runner    *process.Runner
	killed    sync.Once
	processes map[string]*process.Process // etcd, guard, apiserver, gateway
	etcd      *clientv3.Client            // past the guard
	bucket    *etcdtest.Bucket
	guard     string     // address of the guard
	keys      pki.Folder // of the shoot's etcd CA: a certificate for each identity
	backup    string     // URL of the sidecar
	entry     string     // address of the gateway
	server    string     // address of the API server
	ca        string     // file: whom the API server's certificate is from
}

func newSeed(t *testing.T, h *host, shoot string) *seed {
	t.Helper()
	run, err := os.MkdirTemp("", "fence")
	must(t, err)
	s := &seed{
		host: h, shoot: shoot, dir: t.TempDir(), socket: "unix://" + filepath.Join(run, "etcd.sock:0"),
		runner:    process.NewRunner(),
		processes: map[string]*process.Process{}, bucket: &etcdtest.Bucket{},
	}
	s.data = datadir.Dir(filepath.Join(s.dir, "etcd"))
	t.Cleanup(func() {
		s.kill(t)
		must(t, os.RemoveAll(run))
	})
	taken, err := s.take(t.Context(), "a")
	must(t, err)
	if taken != epoch {
		t.Fatalf("the first owner has epoch %d", taken)
	}
	must(t, os.MkdirAll(string(s.data), 0o700))
	must(t, s.data.WriteEpoch(datadir.Epoch{Epoch: epoch}))
	s.writeKeys(t)
	s.startEtcd(t)
	s.startSidecar(t)
	s.startControlPlane(t)
	return s
}

// kill ends all processes. Whatever serves them calls it before it closes, since they would come back.
func (s *seed) kill(t *testing.T) {
	s.killed.Do(func() {
		if t.Failed() {
			s.showLogs(t)
		}
		if err := s.runner.Close(); err != nil {
			t.Errorf("stop the processes: %v", err)
		}
	})
}

// take is what a new owner does until it may start.
func (s *seed) take(ctx context.Context, owner string) (int64, error) {
	takeover := &ownership.Takeover{
		Owner: "uid-" + owner, Seed: owner, Clock: s.clock, Timing: timing,
		Claim:    &ownership.LeaseAuthority{Leases: s.client.CoordinationV1().Leases(project), Name: s.lease()},
		Decision: &ownership.TXTAuthority{Records: &ownership.CloudTXT{Client: s.cloud}, Name: s.record()},
		BoundTo:  func(context.Context) (string, error) { return owner, nil },
		FinalSnapshot: func(ctx context.Context, epoch int64) (bool, error) {
			final, err := backup.FinalSnapshot(ctx, s.bucket, epoch)
			return final != nil, err
		},
	}
	return takeover.Run(ctx)
}

func (s *seed) lease() string  { return "owner." + s.shoot }
func (s *seed) record() string { return "owner." + s.shoot + ".p." + domain }

func (s *seed) start(t *testing.T, spec process.Spec) {
	t.Helper()
	spec.Dir, spec.Log = s.dir, s.log(spec.Name)
	p, err := s.runner.Start(spec)
	must(t, err)
	s.processes[spec.Name] = p
}

// startOwn starts one of the product's commands, run by the test's binary.
func (s *seed) startOwn(t *testing.T, command string, args ...string) {
	t.Helper()
	s.start(t, process.Spec{Name: command, Path: os.Args[0], Args: args, Env: []string{asCommand + "=" + command}})
}

func (s *seed) log(name string) string { return filepath.Join(s.dir, name+".log") }

func (s *seed) showLogs(t *testing.T) {
	for name := range s.processes {
		content, err := os.ReadFile(s.log(name))
		t.Logf("the end of the log of %s (%v):\n%s", name, err, content[max(0, len(content)-3000):])
	}
}

func (s *seed) startEtcd(t *testing.T) {
	t.Helper()
	peer := "http://" + address() + ":2380"
	s.start(t, process.Spec{Name: "etcd", Path: etcdtest.Binary(t), Args: []string{
		"etcd", "--name=etcd-main", "--data-dir=" + string(s.data), "--listen-client-urls=" + s.socket, "--log-level=warn",
		"--advertise-client-urls=http://127.0.0.1:2379", "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" +
			peer,
		"--initial-cluster=etcd-main=" + peer,
	}})
	var err error
	s.etcd, err = etcdtest.Dial(s.socket)
	must(t, err)
	t.Cleanup(func() { s.etcd.Close() })
	s.eventually(t, "etcd to answer", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.etcd.Get(ctx, "ready?")
		return err == nil
	})
}

// writeKeys makes what the gardenlet makes for those who ask guard and sidecar.
func (s *seed) writeKeys(t *testing.T) {
	t.Helper()
	s.guard, s.keys = address(), pki.Folder(filepath.Join(s.dir, "pki"))
	authority, err := pki.NewAuthority("ca-etcd", time.Now())
	must(t, err)
	must(t, s.keys.WriteAuthority("ca", authority))
	for _, request := range []pki.Request{
		{Name: string(access.Guard), Hosts: []string{access.ServerName, s.guard}}, {Name: string(access.APIServer)},
		{Name: string(access.Gateway)},
	} {
		pair, err := authority.Issue(request, time.Now())
		must(t, err)
		must(t, s.keys.WriteKeyPair(request.Name, pair))
	}
}

func (s *seed) files(identity access.Identity) access.Files {
	name := string(identity)
	return access.Files{CA: s.keys.Certificate("ca"), Cert: s.keys.Certificate(name), Key: s.keys.Key(name)}
}

// startSidecar runs the backup sidecar, which is no part of the path and is not frozen.
func (s *seed) startSidecar(t *testing.T) {
	t.Helper()
	_, err := backup.EnsureManifest(t.Context(), s.bucket, s.bucket, epoch)
	must(t, err)
	sidecar := backup.NewSidecar(backup.Options{
		Client: s.etcd, Bucket: s.bucket, Epoch: epoch, TempDir: t.TempDir(), Clock: clock.RealClock{},
		MayDelete: func() bool {
			return false
		},
		MayEnd: func() error {
			if fence := s.fence(); fence == nil || !fence.Revoked {
				return backup.ErrNotFenced
			}
			return nil
		},
		DeltaInterval: 100 * time.Millisecond, FullInterval: time.Hour, DeltaBytes: 1 << 20, PendingBytes: 16 << 20,
		KeepFull: 2,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- sidecar.Run(ctx) }()
	server := httptest.NewUnstartedServer(access.Handler(sidecar.Routes()))
	server.TLS, err = access.ServeTLS(s.files(access.Guard), "http/1.1")
	must(t, err)
	server.StartTLS()
	s.backup = server.URL
	t.Cleanup(func() {
		s.kill(t)
		cancel()
		server.Close()
		if err := <-done; err != nil {
			t.Errorf("the sidecar ended with %v", err)
		}
	})
}

// fence is what the guard has written down about the end of its epoch; nil while there is nothing.
func (s *seed) fence() *validity.Fence {
	memory, err := s.data.ReadMemory()
	if err != nil {
		return nil
	}
	return memory.Fence
}

// startControlPlane starts guard, API server and gateway, wired as on a seed.
func (s *seed) startControlPlane(t *testing.T) {
	t.Helper()
	guard, server, entry := s.guard, address(), address()
	files := s.files(access.Guard)
	s.startOwn(t, "guard", "--listen="+guard+":2379", "--http-listen="+guard+":2381", "--api-listen="+guard+":2382",
		"--endpoint="+s.socket,
		"--ca-file="+files.CA, "--cert-file="+files.Cert, "--key-file="+files.Key,
		"--data-dir="+string(s.data), "--garden-kubeconfig="+s.kubeconfig, "--cloud-kubeconfig="+s.cloudKubeconfig,
		"--lease="+project+"/"+s.lease(), "--owner-record="+s.record(), "--owner=uid-a", fmt.Sprintf("--epoch=%d", epoch),
		"--owner-check-interval="+timing.Interval.String(), "--owner-check-timeout="+timing.Timeout.String(),
		"--backup-url="+s.backup)
	s.startAPIServer(t, server, guard)
	s.entry = entry + ":9443"
	s.startOwn(t, "gateway", "--kubeconfig="+s.services(t, guard, server), "--listen="+s.entry,
		"--owner-check-interval="+timing.Interval.String())
}

func (s *seed) startAPIServer(t *testing.T, address, guard string) {
	t.Helper()
	files := s.files(access.APIServer)
	cluster := program.Cluster{
		Name: s.shoot, Binary: etcdtest.Binary(t), Dir: filepath.Join(s.dir, "cluster"), AdminToken: token,
		Address: netip.MustParseAddr(address), Services: netip.MustParsePrefix("127.254.0.0/16"),
	}
	must(t, cluster.Write())
	spec := cluster.APIServer()
	// A further --etcd-servers would be a second member.
	spec.Args = slices.DeleteFunc(spec.Args, func(arg string) bool { return strings.HasPrefix(arg, "--etcd-") })
	spec.Args = append(spec.Args, "--etcd-servers=https://"+guard+":2379", "--etcd-cafile="+files.CA,
		"--etcd-certfile="+files.Cert, "--etcd-keyfile="+files.Key)
	spec.Name = "apiserver"
	s.start(t, spec)
	s.server = cluster.Address.String() + ":" + strconv.Itoa(program.APIServerPort)
	s.ca = cluster.PKI().Certificate(program.ClusterCA)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	config := &rest.Config{Host: cluster.URL(), BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: s.ca}}
	must(t, program.AwaitReady(ctx, config, s.processes["etcd"], s.processes["guard"], s.processes["apiserver"]))
}

func (s *seed) eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("still waiting for %s", what)
}

// revision of etcd's store, past the guard.
func (s *seed) revision(t *testing.T) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer, err := s.etcd.Get(ctx, "revision?")
	must(t, err)
	return answer.Header.Revision
}

// leased are the keys that API servers hold for some seconds; etcd itself deletes them when nobody renews them.
var leased = regexp.MustCompile(`^/registry/(masterleases|peerserverleases)/`)

// written are the keys that were changed after one revision and up to another, but for what ran out.
func (s *seed) written(t *testing.T, after, last int64) (keys []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for seen := after; seen < last; {
		answer, open := <-s.etcd.Watch(ctx, "", clientv3.WithPrefix(), clientv3.WithRev(seen+1))
		if !open || answer.Err() != nil {
			t.Fatalf("read the revisions from %d to %d: %v", seen+1, last, answer.Err())
		}
		for _, event := range answer.Events {
			seen = max(seen, event.Kv.ModRevision)
			if key := string(event.Kv.Key); event.Type != clientv3.EventTypeDelete || !leased.MatchString(key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// mark writes to etcd, past the guard, so that what came to it before is committed too, and returns the revision.
func (s *seed) mark(t *testing.T) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer, err := s.etcd.Put(ctx, "mark", "")
	must(t, err)
	return answer.Header.Revision
}
