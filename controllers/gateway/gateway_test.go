package gateway

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

const (
	host = "api.alpha.p.shoots.transplant.test"
	// external is the name of the same shoot below its own domain.
	external = "api.alpha.p.clusters.transplant.test"
)

// addresses hands out an address of 127.220.0.0/16 to each server of a test, so that all may use their usual ports.
var addresses atomic.Int32

func address() string {
	n := addresses.Add(1)
	return fmt.Sprintf("127.220.%d.%d", 100+n/250, 1+n%250)
}

// guard answers as a guard does, with what the test says.
type guard struct {
	mu      sync.Mutex
	answer  validity.Answer
	asked   int
	fenced  chan struct{}
	revoked chan string
	secret  map[string][]byte // the gateway's certificate for it
}

func startGuard(t *testing.T, ip string) *guard {
	g := &guard{fenced: make(chan struct{}), revoked: make(chan string, 10)}
	g.set(validity.Serving, 1, time.Hour)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /validity", func(w http.ResponseWriter, r *http.Request) {
		if by := r.TLS.PeerCertificates[0].Subject.CommonName; by != "gateway" || r.URL.Query().Get("instance") == "" {
			t.Errorf("%q asks, as the instance %q", by, r.URL.Query().Get("instance"))
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asked++
		_ = json.NewEncoder(w).Encode(g.answer)
	})
	mux.HandleFunc("GET /revocation", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-g.fenced:
			_ = json.NewEncoder(w).Encode(validity.FenceAnswer{Epoch: 1, Fenced: true})
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /revoked", func(_ http.ResponseWriter, r *http.Request) {
		g.revoked <- r.URL.Query().Get("instance")
	})
	authority, err := pki.NewAuthority("ca-etcd", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	issue := func(request pki.Request) tls.Certificate {
		pair, err := authority.Issue(request, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	certificate, key, err := pki.PEM(issue(pki.Request{Name: "gateway"}))
	if err != nil {
		t.Fatal(err)
	}
	g.secret = map[string][]byte{"ca.crt": authority.PEM(), "tls.crt": certificate, "tls.key": key}
	listener := tls.NewListener(listen(t, ip+":2382"), &tls.Config{
		Certificates: []tls.Certificate{issue(pki.Request{Name: "etcd-main", Hosts: []string{"etcd-main-client"}})},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool(),
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	return g
}

func (g *guard) credentials(namespace string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guard-client-gateway"},
		Data: g.secret}
}

func (g *guard) set(state validity.State, epoch int64, remaining time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = validity.Answer{State: state, Owner: "uid-a", Epoch: epoch,
		Remaining: metav1.Duration{Duration: remaining}}
}

// heard waits until the gateway has taken in what the guard says now: it asks one question after the other.
func (w *world) heard() {
	w.Helper()
	asked := func() int {
		w.guard.mu.Lock()
		defer w.guard.mu.Unlock()
		return w.guard.asked
	}
	before := asked()
	w.eventually("the gateway's next questions", func() bool { return asked() >= before+2 })
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// apiServer is a TLS server that echoes, and keeps an idle connection open as a watch does.
type apiServer struct{ roots *x509.CertPool }

func startAPIServer(t *testing.T, ip string, serve func(net.Conn)) *apiServer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host},
		DNSNames:  []string{host, external, "api.beta.p.shoots.transplant.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &apiServer{roots: x509.NewCertPool()}
	a.roots.AddCert(certificate)
	listener := tls.NewListener(listen(t, ip+":6443"),
		&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return a
}

func echo(conn net.Conn) { _, _ = io.Copy(conn, conn) }

// world is a gateway in front of one shoot.
type world struct {
	*testing.T
	client     *fake.Clientset
	services   corelisters.ServiceLister
	table      *table
	guard      *guard
	api        *apiServer
	apiAddress string
	address    string
}

func newWorld(t *testing.T, serve func(net.Conn)) *world {
	t.Helper()
	w := &world{T: t, address: address()}
	apiIP, etcdIP := address(), address()
	w.apiAddress = apiIP
	w.guard = startGuard(t, etcdIP)
	w.api = startAPIServer(t, apiIP, serve)
	w.client = fake.NewClientset(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha",
			Labels: map[string]string{"gardener.cloud/role": "shoot"}}},
		service("shoot--p--alpha", "kube-apiserver", apiIP, 6443, host+","+external),
		service("shoot--p--alpha", "etcd-main-client", etcdIP, 2379, ""),
		w.guard.credentials("shoot--p--alpha"),
	)
	watched := watches(w.client)
	w.run(w.client)
	for range 3 { // Services, Namespaces and Secrets: this client forgets what happens between a list and its watch
		<-watched
	}
	w.eventually("validity", func() bool {
		r := w.table.byHost(host)
		return r != nil && r.holder.Term().Valid()
	})
	return w
}

// run the gateway of a seed until the test ends. It returns when all routes of the beginning are there.
func (w *world) run(seed kubernetes.Interface) {
	w.Helper()
	clock, err := ownership.NewBootClock()
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.table = newTable(ctx, "gateway-test", clock, 20*time.Millisecond, testr.New(w.T))
	ready := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- watch(ctx, seed, w.table, func(services corelisters.ServiceLister) {
			w.services = services
			close(ready)
		})
	}()
	<-ready
	for port, server := range map[string]*server{
		":9443": newServer(w.table, testr.New(w.T)),
		":8443": newProxyServer(w.table, w.services, testr.New(w.T)),
		":8132": newTunnelServer(w.table, w.services, testr.New(w.T)),
	} {
		listener := listen(w.T, w.address+port)
		go func() { _ = server.serve(ctx, listener) }()
	}
	w.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	})
}

// watches signals each watch that has begun.
func watches(client *fake.Clientset) <-chan struct{} {
	begun := make(chan struct{}, 100)
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, apiwatch.Interface, error) {
		events, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begun <- struct{}{}
		return true, events, err
	})
	return begun
}

func service(namespace, name, ip string, port int32, hosts string) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: port}}},
	}
	if hosts != "" {
		s.Annotations = map[string]string{"networking.transplant.dev/sni-hosts": hosts}
	}
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

func (w *world) dial(name string) (*tls.Conn, error) {
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Minute},
		Config: &tls.Config{ServerName: name, RootCAs: w.api.roots}}
	conn, err := dialer.DialContext(w.Context(), "tcp", w.address+":9443")
	if err != nil {
		return nil, err
	}
	w.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	return conn.(*tls.Conn), nil
}

func (w *world) mustDial(name string) *tls.Conn {
	w.Helper()
	conn, err := w.dial(name)
	if err != nil {
		w.Fatal(err)
	}
	return conn
}

// says expects an echo.
func (w *world) says(conn net.Conn, text string) {
	w.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		w.Fatal(err)
	}
	answer := make([]byte, len(text))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != text {
		w.Fatalf("answer is %q: %v", answer, err)
	}
}

// isCut expects the connection to be closed by the gateway, not to time out.
func (w *world) isCut(conn net.Conn) {
	w.Helper()
	_, err := conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		w.Errorf("the connection is not cut: %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestRoutesByServerNameAndPassesTLSThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	conn := w.mustDial(host)
	w.says(conn, "through")
	if name := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; name != host {
		t.Errorf("TLS ends at %q, want the shoot's API server", name)
	}
	w.says(w.mustDial(strings.ToUpper(host)), "names have no case")
}

func TestUnknownNameIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	for _, name := range []string{"api.other.p.shoots.transplant.test", ""} {
		dialer := &tls.Dialer{Config: &tls.Config{ServerName: name, InsecureSkipVerify: true}}
		_, err := dialer.DialContext(t.Context(), "tcp", w.address+":9443")
		if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("name %q: error is %v, want the TLS alert for an unrecognized name", name, err)
		}
	}
}

func TestWhatIsNotTLSIsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	conn, err := net.Dial("tcp", w.address+":9443")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if len(answer) != 0 || (err != nil && !errors.Is(err, syscall.ECONNRESET)) {
		t.Errorf("plain HTTP was answered with %q: %v", answer, err)
	}
}

func TestLapseCutsOpenConnectionsAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	busy, idle := w.mustDial(host), w.mustDial(host)
	w.says(busy, "still valid")
	w.says(idle, "still valid")
	term := w.table.byHost(host).holder.Term()
	w.guard.set(validity.Suspended, 1, 0)
	w.heard()
	// What was granted runs on: the gateway lives on the remaining time of its last answer.
	w.says(busy, "the guard's silence ends nothing")
	term.End() // in place of the hour that was granted
	w.isCut(busy)
	w.isCut(idle)
	if _, err := w.dial(host); err == nil {
		t.Error("a lapsed gateway took a connection")
	}
	w.guard.set(validity.Serving, 1, time.Hour)
	w.eventually("validity to come back", func() bool { return w.table.byHost(host).holder.Term().Valid() })
	w.says(w.mustDial(host), "valid again")
}

func TestShortAnswersLetTheValidityRunOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(conn net.Conn) { // a watch that never stops
		for {
			if _, err := conn.Write(make([]byte, 1000)); err != nil {
				return
			}
		}
	})
	conn := w.mustDial(host)
	w.guard.set(validity.Suspended, 1, 0)
	w.heard()
	w.table.byHost(host).holder.Term().End() // end the hour; from now on the answers are short
	w.isCutAfterData(conn)
	w.guard.set(validity.Serving, 1, 3*time.Second) // a gateway that is busy for a moment must not lose it
	w.eventually("a short term", func() bool {
		remaining := w.table.byHost(host).holder.Term().Remaining()
		return remaining > 0 && remaining <= 3*time.Second
	})
	conn = w.mustDial(host)
	w.guard.set(validity.Suspended, 1, 0)
	w.isCutAfterData(conn)
}

// isCutAfterData reads to the end of an endless answer.
func (w *world) isCutAfterData(conn net.Conn) {
	w.Helper()
	if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
		w.Errorf("the answer does not end: %v", err)
	}
}

func TestFenceIsConfirmedWhenNothingCanPassAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	conn := w.mustDial(host)
	w.says(conn, "still valid")
	r := w.table.byHost(host)
	close(w.guard.fenced)
	select {
	case holder := <-w.guard.revoked:
		if holder != "gateway-test" {
			t.Errorf("%q confirmed", holder)
		}
	case <-time.After(time.Minute):
		t.Fatal("the revocation is not confirmed")
	}
	r.mu.Lock()
	open := len(r.open)
	r.mu.Unlock()
	if open != 0 || r.holder.Term().Valid() {
		t.Errorf("after the confirmation %d connections are open, valid %v", open, r.holder.Term().Valid())
	}
	w.isCut(conn)
}

// The names of a shoot are one route: when its epoch has ended they end together (docs/adr/0011).
func TestAnEndedEpochIsServedByNoName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	conns := map[string]*tls.Conn{}
	for _, name := range []string{host, external} {
		conns[name] = w.mustDial(name)
		w.says(conns[name], "still valid")
	}
	w.guard.set(validity.Suspended, 1, 0)
	w.heard()
	close(w.guard.fenced)
	select {
	case <-w.guard.revoked:
	case <-time.After(time.Minute):
		t.Fatal("the revocation is not confirmed")
	}
	for name, conn := range conns {
		w.isCut(conn)
		if _, err := w.dial(name); err == nil {
			t.Errorf("after the confirmation a connection to %s was taken", name)
		}
	}
}

func TestNewEpochCutsWhatTheOldOneOpened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	conn := w.mustDial(host)
	w.says(conn, "epoch 1")
	w.guard.set(validity.Serving, 2, time.Hour)
	w.isCut(conn)
	w.eventually("validity of epoch 2", func() bool { return w.table.byHost(host).holder.Term().Valid() })
	w.says(w.mustDial(host), "epoch 2")
}

func TestRouteFollowsItsService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	const other = "api.beta.p.shoots.transplant.test"
	conn := w.mustDial(host)
	w.says(conn, "here")
	services := w.client.CoreV1().Services("shoot--p--alpha")
	s, err := services.Get(t.Context(), "kube-apiserver", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Annotations["networking.transplant.dev/sni-hosts"] = other + ", " + host
	if _, err := services.Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the second name", func() bool {
		r := w.table.byHost(other)
		return r != nil && r.holder.Term().Valid()
	})
	conn = w.mustDial(other)
	w.says(conn, "there")
	if err := services.Delete(t.Context(), "kube-apiserver", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.isCut(conn)
	if _, err := w.dial(host); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("the route is gone, but: %v", err)
	}
}

func TestServiceOutsideAShootsNamespaceIsNoRoute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	namespace, err := w.client.CoreV1().Namespaces().Get(t.Context(), "shoot--p--alpha", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	namespace.Labels = nil
	if _, err := w.client.CoreV1().Namespaces().Update(t.Context(), namespace, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the route to go", func() bool { return w.table.byHost(host) == nil })
}

func TestHalfCloseIsPassedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(conn net.Conn) {
		all, err := io.ReadAll(conn) // until the client has ended its half
		if err == nil {
			_, _ = fmt.Fprintf(conn, "%d bytes", len(all))
		}
	})
	conn := w.mustDial(host)
	if _, err := io.WriteString(conn, strings.Repeat("x", 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || string(answer) != "100000 bytes" {
		t.Errorf("answer is %q: %v", answer, err)
	}
}

func TestManyConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	var all sync.WaitGroup
	var failed atomic.Int32
	handshakes := make(chan struct{}, 20) // the connections live together; their handshakes cost what the test machine has
	for i := range 200 {
		all.Go(func() {
			handshakes <- struct{}{}
			conn, err := w.dial(host)
			<-handshakes
			if err != nil {
				failed.Add(1)
				t.Errorf("connection %d: %v", i, err)
				return
			}
			text := fmt.Sprintf("%d %s", i, strings.Repeat("y", 50_000))
			go func() { _, _ = io.WriteString(conn, text) }()
			answer := make([]byte, len(text))
			if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != text {
				failed.Add(1)
				t.Errorf("connection %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if n := failed.Load(); n > 0 {
		t.Errorf("%d of 200 connections failed", n)
	}
	r := w.table.byHost(host)
	w.guard.set(validity.Suspended, 1, 0)
	w.heard()
	r.holder.Term().End()
	w.eventually("all to be cut", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.open) == 0
	})
}
