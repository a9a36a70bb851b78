package guard_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
	"github.com/transplant-sim/transplant/controllers/etcd/guard"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

var (
	owner  = ownership.Record{Owner: "uid-a", Epoch: 3, Seed: "a"}
	newer  = ownership.Record{Owner: "uid-b", Epoch: 4, Seed: "b"}
	timing = ownership.Timing{Interval: 100 * time.Millisecond, Timeout: 3 * time.Second}
)

// world is an etcd behind its guard, with a sidecar beside it and both authorities in hand.
type world struct {
	testing.TB
	etcd            *etcdtest.Etcd
	claim, decision *ownershiptest.Authority
	clock           ownership.BootClock
	dir             datadir.Dir
	guard           *validity.Guard
	bucket          *etcdtest.Bucket
	// endpoint is the guard's for clients, url that of its API, probes that of what is open.
	endpoint, url, probes string
	keys                  pki.Folder // a certificate for each identity
	client                *clientv3.Client
	stop                  func() // ends the guard's process, so to say
}

func newWorld(t testing.TB) *world {
	t.Helper()
	clock, err := ownership.NewBootClock()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		TB: t, clock: clock, etcd: etcdtest.Start(t, t.TempDir()), bucket: &etcdtest.Bucket{},
		claim: &ownershiptest.Authority{}, decision: &ownershiptest.Authority{},
	}
	w.dir = datadir.Dir(w.etcd.DataDir)
	w.claim.Set(owner)
	w.decision.Set(owner)
	w.writeKeys()
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// writeKeys makes the shoot's etcd CA and what it signs.
func (w *world) writeKeys() {
	w.Helper()
	w.keys = pki.Folder(w.TempDir())
	authority, err := pki.NewAuthority("ca-etcd", time.Now())
	if err != nil {
		w.Fatal(err)
	}
	if err := w.keys.WriteAuthority("ca", authority); err != nil {
		w.Fatal(err)
	}
	for _, identity := range append(access.Clients(), access.Gardenlet, access.APIServer, access.Guard) {
		request := pki.Request{Name: string(identity)}
		if identity == access.Guard {
			request.Hosts = []string{access.ServerName}
		}
		pair, err := authority.Issue(request, time.Now())
		if err != nil {
			w.Fatal(err)
		}
		if err := w.keys.WriteKeyPair(string(identity), pair); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) files(identity access.Identity) access.Files {
	return access.Files{CA: w.keys.Certificate("ca"), Cert: w.keys.Certificate(string(identity)),
		Key: w.keys.Key(string(identity))}
}

// as asks the guard's API as somebody.
func (w *world) as(identity access.Identity) *http.Client {
	return &http.Client{Transport: access.Transport(w.files(identity).Read)}
}

func (w *world) serveAPI(routes []access.Route) *httptest.Server {
	w.Helper()
	config, err := access.ServeTLS(w.files(access.Guard), "http/1.1")
	if err != nil {
		w.Fatal(err)
	}
	server := httptest.NewUnstartedServer(access.Handler(routes))
	server.TLS = config
	server.StartTLS()
	return server
}

// start the guard, its proxy and the sidecar, as their processes do.
func (w *world) start() {
	w.Helper()
	memory, err := w.dir.ReadMemory()
	if err != nil {
		w.Fatal(err)
	}
	w.guard, err = validity.NewGuard(validity.GuardOptions{Self: owner, Timing: timing, Clock: w.clock, Memory: memory,
		Remember: w.dir.WriteMemory})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	log := testr.NewWithInterface(w.TB, testr.Options{})
	var following sync.WaitGroup
	following.Go(func() { w.guard.Follow(ctx, ownership.Claim, w.claim, log) })
	following.Go(func() { w.guard.Follow(ctx, ownership.Decision, w.decision, log) })

	proxy := guard.NewProxy(w.guard, w.clock, w.etcd.Socket, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- proxy.Serve(listener) }()
	w.endpoint = "http://" + listener.Addr().String()
	registry := prometheus.NewRegistry()
	if err := proxy.Register(registry); err != nil {
		w.Fatal(err)
	}
	guarding := &guard.Server{Guard: w.guard, Clock: w.clock, Gatherer: registry}
	server, probes, sidecar := w.serveAPI(guarding.Routes()), httptest.NewServer(guarding.Probes()),
		w.serveAPI(w.sidecar(ctx).Routes())
	w.url, w.probes = server.URL, probes.URL
	end := &guard.End{Guard: w.guard, Clock: w.clock, Backup: sidecar.URL, Client: w.as(access.Guard), Log: log}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end.Run(ctx)
	}()
	if w.client, err = etcdtest.Dial(w.endpoint); err != nil {
		w.Fatal(err)
	}
	w.stop = func() {
		w.client.Close()
		cancel()
		following.Wait()
		<-ended
		proxy.Stop()
		if err := <-served; err != nil {
			w.Errorf("the proxy ended with %v", err)
		}
		server.CloseClientConnections()
		server.Close()
		probes.Close()
		sidecar.CloseClientConnections()
		sidecar.Close()
	}
}

func (w *world) sidecar(ctx context.Context) *backup.Sidecar {
	s := backup.NewSidecar(backup.Options{
		Client: w.etcd.Client, Bucket: w.bucket, Epoch: owner.Epoch, TempDir: w.TempDir(),
		MayEnd: func() error {
			memory, err := w.dir.ReadMemory()
			if err == nil && (memory.Fence == nil || !memory.Fence.Revoked) {
				err = backup.ErrNotFenced
			}
			return err
		},
		MayDelete: func() bool { return false }, DeltaInterval: time.Hour, FullInterval: time.Hour,
		DeltaBytes: 1 << 20, PendingBytes: 16 << 20, KeepFull: 2, Clock: clock.RealClock{},
	})
	go func() { _ = s.Run(ctx) }()
	return s
}

func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	w.Fatalf("still waiting for %s", what)
}

func (w *world) is(state validity.State) {
	w.Helper()
	w.eventually("the guard to be "+string(state), func() bool { return w.guard.State() == state })
}

// put through the guard, bounded: a client waits for a guard that is not valid.
func (w *world) put(key, value string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := w.client.Put(ctx, key, value)
	return err
}

func (w *world) mustPut(key, value string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := w.client.Put(ctx, key, value); err != nil {
		w.Fatal(err)
	}
}
