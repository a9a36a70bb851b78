package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	proxyproto "github.com/pires/go-proxyproto"
)

// endpoint is how a client outside sees the control plane of the shoot alpha: an address of the seed's gateway, and
// what it trusts and shows.
type endpoint struct {
	address, name, token string
	roots                *x509.CertPool
	// apiServer is the address of the API server's Service in the seed, which clients in the shoot have as their target.
	apiServer string
}

const (
	alphaNamespace = "shoot--p--alpha"
	alphaName      = "api.alpha.p.shoots.transplant.test"
)

func (l *landscape) endpoint(t *testing.T, seed string) endpoint {
	t.Helper()
	access := struct{ Data map[string]string }{}
	if err := json.Unmarshal([]byte(l.on(t, "garden", "get", "secret", "-n", "garden-p", "alpha.kubeconfig", "-o",
		"json")), &access); err != nil {
		t.Fatal(err)
	}
	field := func(key string) string {
		value, err := base64.StdEncoding.DecodeString(access.Data[key])
		if err != nil || len(value) == 0 {
			t.Fatalf("the access of the shoot has no %q (%v)", key, err)
		}
		return string(value)
	}
	e := endpoint{name: alphaName, token: field("token"), roots: x509.NewCertPool()}
	if !e.roots.AppendCertsFromPEM([]byte(field("ca.crt"))) {
		t.Fatal("the shoot's authority is none")
	}
	e.apiServer = l.on(t, seed, "get", "service", "-n", alphaNamespace, "kube-apiserver", "-o",
		"jsonpath={.spec.clusterIP}")
	e.address = l.addresses(t, seed)[0]
	return e
}

func (e endpoint) dial(t *testing.T, port string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp",
		net.JoinHostPort(e.address, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// asks speaks TLS with the API server through the connection. That its certificate is the shoot's own says that nobody
// has ended TLS on the way.
func (e endpoint) asks(t *testing.T, conn net.Conn, name string) {
	t.Helper()
	secure := tls.Client(conn, &tls.Config{ServerName: name, RootCAs: e.roots, MinVersion: tls.VersionTLS12})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"https://"+name+"/api/v1/namespaces/kube-system", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+e.token)
	if err := request.Write(secure); err != nil {
		t.Fatalf("ask the API server: %v", err)
	}
	response, err := http.ReadResponse(bufio.NewReader(secure), request)
	if err != nil {
		t.Fatalf("read the API server's answer: %v", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(content), `"name": "kube-system"`) &&
		!strings.Contains(string(content), `"name":"kube-system"`) {
		t.Errorf("the API server answers %d %.200s (%v)", response.StatusCode, content, err)
	}
}

// endpoints: each port of docs/specification/nodes-and-seeds.md#spec-7-4 leads to the shoot's API server, end to end,
// and nothing of the shoot itself listens.
func (l *landscape) endpoints(t *testing.T) {
	e := l.endpoint(t, "a")
	t.Run("443, mapped to 9443: by the name in the ClientHello", func(t *testing.T) {
		e.asks(t, e.dial(t, "9443"), e.name)
	})
	t.Run("8443: by the target in the PROXY header, as from inside the shoot", func(t *testing.T) {
		conn := e.dial(t, "8443")
		from, to := &net.TCPAddr{IP: net.ParseIP("10.250.0.1"), Port: 40000}, &net.TCPAddr{IP: net.ParseIP(e.apiServer),
			Port: 443}
		if _, err := proxyproto.HeaderProxyFromAddrs(2, from, to).WriteTo(conn); err != nil {
			t.Fatal(err)
		}
		e.asks(t, conn, "kubernetes.default.svc.cluster.local")
	})
	t.Run("8132: by the header of the reversed tunnel", func(t *testing.T) {
		conn := e.dial(t, "8132")
		if _, err := fmt.Fprintf(conn, "CONNECT tunnel HTTP/1.1\r\nHost: tunnel\r\n"+
			"Reversed-VPN: outbound|6443||kube-apiserver.%s.svc.cluster.local\r\n\r\n", alphaNamespace); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		response, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
		if err != nil || response.StatusCode != http.StatusOK || in.Buffered() > 0 {
			t.Fatalf("the tunnel answers %v (%v)", response, err)
		}
		e.asks(t, conn, e.name)
	})
	t.Run("no port is open on the shoot's side", func(t *testing.T) { l.nothingListens(t) })
}

// nothingListens: the machines let nobody in but each other, what answers for their kubelets is a program of the
// landscape, and no Service of the shoot is reached from outside.
func (l *landscape) nothingListens(t *testing.T) {
	state := struct {
		Items []struct {
			Spec   struct{ Type string }
			Status struct {
				Addresses []struct{ Type, Address string }
			}
		}
	}{}
	decode := func(text string) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			t.Fatal(err)
		}
		if len(state.Items) == 0 {
			t.Fatal("there is nothing to look at")
		}
	}
	decode(l.on(t, "alpha", "get", "nodes", "-o", "json"))
	for _, node := range state.Items {
		for _, address := range node.Status.Addresses {
			ip, err := netip.ParseAddr(address.Address)
			if address.Type == "Hostname" && (err != nil || !ip.IsLoopback()) {
				t.Errorf("a kubelet is to be called at %s (%v), want an address of the landscape", address.Address, err)
			}
		}
	}
	decode(l.on(t, "alpha", "get", "services", "-A", "-o", "json"))
	for _, service := range state.Items {
		if service.Spec.Type != "ClusterIP" {
			t.Errorf("there is a Service of type %s", service.Spec.Type)
		}
	}
}
