package gateway

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	proxyproto "github.com/pires/go-proxyproto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (w *world) plain(port string) net.Conn {
	w.Helper()
	conn, err := net.Dial("tcp", w.address+port)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		w.Fatal(err)
	}
	return conn
}

// connects sends a CONNECT and returns the answer's status and the connection behind it.
func (w *world) connects(port, headers string) (int, net.Conn) {
	w.Helper()
	conn := w.plain(port)
	if _, err := fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n%s\r\n", host, host, headers); err != nil {
		w.Fatal(err)
	}
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err != nil {
		w.Fatal(err)
	}
	client, err := rest(conn, in)
	if err != nil {
		w.Fatal(err)
	}
	return response.StatusCode, client
}

// speaks runs TLS over a connection to the API server.
func (w *world) speaks(conn net.Conn) {
	w.Helper()
	w.says(tls.Client(conn, &tls.Config{ServerName: host, RootCAs: w.api.roots}), "end to end")
}

func TestProxyProtocolChoosesByDestination(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	header := func(ip string, authority string) *proxyproto.Header {
		h := proxyproto.HeaderProxyFromAddrs(2, &net.TCPAddr{IP: net.ParseIP("10.0.0.1"), Port: 5000},
			&net.TCPAddr{IP: net.ParseIP(ip), Port: 443})
		if authority != "" {
			if err := h.SetTLVs([]proxyproto.TLV{{Type: proxyproto.PP2_TYPE_AUTHORITY, Value: []byte(authority)}}); err != nil {
				t.Fatal(err)
			}
		}
		return h
	}
	for name, h := range map[string]*proxyproto.Header{"address": header(w.apiAddress, ""),
		"authority": header("10.9.9.9", host)} {
		conn := w.plain(":8443")
		if _, err := h.WriteTo(conn); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.speaks(conn)
	}
	conn := w.plain(":8443")
	if _, err := header("10.9.9.9", "").WriteTo(conn); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404") {
		t.Errorf("an unknown destination was answered with %q: %v", answer, err)
	}
}

func TestConnectChoosesByHeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	destination := "outbound|6443||kube-apiserver.shoot--p--alpha.svc.cluster.local"
	for port, header := range map[string]string{":8443": "X-Gardener-Destination", ":8132": "Reversed-VPN"} {
		status, conn := w.connects(port, header+": "+destination+"\r\n")
		if status != http.StatusOK {
			t.Fatalf("%s answers %d", port, status)
		}
		w.speaks(conn)
	}
	for name, headers := range map[string]string{
		"no destination":         "",
		"a Service without it":   "Reversed-VPN: outbound|1194||vpn-seed-server.shoot--p--alpha.svc.cluster.local\r\n",
		"a port it has not":      "Reversed-VPN: outbound|22||kube-apiserver.shoot--p--alpha.svc.cluster.local\r\n",
		"another namespace":      "Reversed-VPN: outbound|6443||kube-apiserver.garden.svc.cluster.local\r\n",
		"not a Service's name":   "Reversed-VPN: outbound|6443||example.org\r\n",
		"not a destination":      "Reversed-VPN: kube-apiserver\r\n",
		"a namespace too little": "Reversed-VPN: outbound|6443||kube-apiserver.svc.cluster.local\r\n",
	} {
		if status, _ := w.connects(":8132", headers); status != http.StatusNotFound {
			t.Errorf("%s answers %d", name, status)
		}
	}
}

func TestTunnelIsCutWithTheValidity(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	vpn := listen(t, address()+":1194")
	go func() {
		for {
			conn, err := vpn.Accept()
			if err != nil {
				return
			}
			go echo(conn)
		}
	}()
	ip, _, err := net.SplitHostPort(vpn.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.CoreV1().Services("shoot--p--alpha").Create(t.Context(),
		service("shoot--p--alpha", "vpn-seed-server", ip, 1194, ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the service", func() bool {
		_, err := w.services.Services("shoot--p--alpha").Get("vpn-seed-server")
		return err == nil
	})
	status, conn := w.connects(":8132",
		"Reversed-VPN: outbound|1194||vpn-seed-server.shoot--p--alpha.svc.cluster.local\r\n")
	if status != http.StatusOK {
		t.Fatalf("the tunnel answers %d", status)
	}
	w.says(conn, "through the tunnel")
	w.guard.set("Suspended", 1, 0)
	w.heard()
	w.table.byHost(host).holder.Term().End()
	w.isCut(conn)
}
