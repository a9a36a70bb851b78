package vpn

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/pki"
)

// folderOf makes the certificates of one who takes part in a tunnel.
func folderOf(t *testing.T, authority *pki.Authority, request pki.Request) certificates {
	t.Helper()
	pair, err := authority.Issue(request, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, certificate, key, err := pemOf(authority, pair)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string][]byte{"ca.crt": authority.PEM(), "tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificates(folder)
}

func pemOf(authority *pki.Authority, pair tls.Certificate) (ca, certificate, key []byte, err error) {
	certificate, key, err = pki.PEM(pair)
	return authority.PEM(), certificate, key, err
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// world is a tunnel with everything around it: a gateway, both ends, and the API server's way in.
type world struct {
	egress    string
	authority *pki.Authority
	client    certificates
	gateway   *gateway
	server    *server
}

// gateway joins those who ask for the right destination with vpn-seed-server.
type gateway struct {
	listener net.Listener
	to       string
	asked    chan string
	open     chan net.Conn
}

func (g *gateway) serve() {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			request, err := http.ReadRequest(bufio.NewReader(client))
			if err != nil {
				return
			}
			g.asked <- request.Method + " " + request.Host + " " + request.Header.Get("Reversed-VPN")
			server, err := net.Dial("tcp4", g.to)
			if err != nil {
				return
			}
			defer server.Close()
			_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
			g.open <- client
			go func() { _, _ = io.Copy(server, client) }()
			_, _ = io.Copy(client, server)
		}()
	}
}

const destination = "outbound|1194||vpn-seed-server.shoot--p--alpha.svc.cluster.local"

func newWorld(t *testing.T) *world {
	t.Helper()
	authority, err := pki.NewAuthority("ca-vpn", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(folderOf(t, authority, pki.Request{Name: "vpn-seed-server", ServerOnly: true,
		Hosts: []string{"vpn-seed-server", "127.0.0.1"}}), clock.RealClock{}, testr.New(t))
	tunnels, egress := listen(t), listen(t)
	w := &world{egress: egress.Addr().String(), authority: authority, server: server,
		client: folderOf(t, authority, pki.Request{Name: "kube-apiserver"}),
		gateway: &gateway{listener: listen(t), to: tunnels.Addr().String(), asked: make(chan string, 100),
			open: make(chan net.Conn, 100)},
	}
	go w.gateway.serve()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- server.serveTunnels(ctx, tunnels) }()
	go func() { ended <- server.serveEgress(ctx, egress) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// connect the nodes' end. It ends with the test, or with end.
func (w *world) connect(t *testing.T) (end func()) {
	t.Helper()
	s := &shoot{gateway: w.gateway.listener.Addr().String(), destination: destination, serverName: "vpn-seed-server",
		certificates: folderOf(t, w.authority, pki.Request{Name: "vpn-shoot"}), clock: clock.RealClock{}, log: testr.New(t)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.run(ctx) }()
	end = func() { cancel(); <-done }
	t.Cleanup(end)
	return end
}

// dial a target through the tunnel, as the API server does.
func (w *world) dial(t *testing.T, as certificates, target string) (net.Conn, *http.Response, error) {
	t.Helper()
	config, err := as.client("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	connection, err := tls.Dial("tcp4", w.egress, config)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { _ = connection.Close() })
	if _, err := fmt.Fprintf(connection, "CONNECT %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", target); err != nil {
		return nil, nil, err
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: http.MethodConnect})
	return connection, response, err
}

// reach dials until the tunnel is there.
func (w *world) reach(t *testing.T, target string) net.Conn {
	t.Helper()
	for t.Context().Err() == nil {
		connection, response, err := w.dial(t, w.client, target)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == http.StatusOK {
			return connection
		}
		_ = connection.Close()
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// echo answers each line with itself, and ends when its client has ended.
func echo(t *testing.T) string {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { defer connection.Close(); _, _ = io.Copy(connection, connection) }()
		}
	}()
	return listener.Addr().String()
}

func TestTunnel_CarriesBothWays_AndEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(t)
	connection := w.reach(t, echo(t))
	want := strings.Repeat("the same again\n", 100_000)
	go func() {
		_, _ = io.WriteString(connection, want)
		_ = connection.(*tls.Conn).CloseWrite()
	}()
	got, err := io.ReadAll(connection)
	if err != nil || string(got) != want {
		t.Errorf("%d bytes of %d came back: %v", len(got), len(want), err)
	}
	asked := "CONNECT " + w.gateway.listener.Addr().String() + " " + destination
	if got := <-w.gateway.asked; got != asked {
		t.Errorf("the gateway was asked for %q, want %q", got, asked)
	}
}

// A stream that nobody reads holds up no other.
func TestTunnel_OneStreamIsNotRead_OthersGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(t)
	silent := listen(t) // whose connections nobody accepts
	for range 5 {
		stuck := w.reach(t, silent.Addr().String())
		go func() { _, _ = io.Copy(stuck, strings.NewReader(strings.Repeat("x", 32<<20))) }()
	}
	connection := w.reach(t, echo(t))
	if err := connection.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(connection).ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestTunnel_Cut_ConnectsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(t)
	target := echo(t)
	before := w.reach(t, target)
	(<-w.gateway.open).Close()
	if _, err := io.ReadAll(before); err != nil && !strings.Contains(err.Error(), "unexpected EOF") {
		t.Error(err)
	}
	w.reach(t, target)
}

func TestTunnel_Refusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const nobody = "127.0.0.1:1" // no port that is drawn, which another test may get
	_, response, err := w.dial(t, w.client, nobody)
	if err != nil || response.StatusCode != http.StatusBadGateway {
		t.Errorf("without a tunnel: %v, %v", response, err)
	}
	end := w.connect(t)
	w.reach(t, echo(t))
	_, response, err = w.dial(t, w.client, nobody)
	if err != nil || response.StatusCode != http.StatusBadGateway {
		t.Fatalf("where nobody listens: %v, %v", response, err)
	}
	if body, _ := io.ReadAll(response.Body); !strings.Contains(string(body), "connection refused") {
		t.Errorf("the answer is %q", body)
	}
	other := folderOf(t, w.authority, pki.Request{Name: "vpn-shoot"})
	if _, _, err := w.dial(t, other, nobody); err == nil {
		t.Error("the nodes' end may send requests as the API server does")
	}
	end()
	for t.Context().Err() == nil && w.server.current() != nil {
		time.Sleep(10 * time.Millisecond)
	}
}

// The API server's certificate opens no tunnel: it would get what is meant for the nodes.
func TestTunnels_OfOthers_AreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config, err := w.client.client("vpn-seed-server", "h2")
	if err != nil {
		t.Fatal(err)
	}
	connection, err := tls.Dial("tcp4", w.gateway.to, config)
	if err == nil {
		defer connection.Close()
		_, err = io.ReadAll(connection)
	}
	if err == nil || w.server.current() != nil {
		t.Errorf("a tunnel is open, %v", err)
	}
}
