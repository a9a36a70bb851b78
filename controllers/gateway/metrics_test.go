package gateway

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/controllers/metricstest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	registry := prometheus.NewRegistry()
	registry.MustRegister(w.table.collectors()...)
	metricstest.Check(t, registry)
}

// The command serves them beside those of its process.
func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	o := &options{metrics: net.JoinHostPort(w.address, "9100")}
	ctx, cancel := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	if err := o.serveMetrics(ctx, group, w.table); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get("http://" + o.metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"gateway_routes{validity=\"valid\"} 1\n", "go_goroutines ",
		"process_cpu_seconds_total "} {
		if !strings.Contains(string(content), want) {
			t.Errorf("%q is not served", want)
		}
	}
	cancel()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// Each connection counts once, under the port it came to and what became of it.
func TestConnectionsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	counts := func(port, result string, want float64) {
		t.Helper()
		w.eventually(port+" "+result, func() bool {
			return testutil.ToFloat64(w.table.metrics.connections.WithLabelValues(port, result)) == want
		})
	}
	w.says(w.mustDial(host), "one")
	w.says(w.mustDial(host), "two")
	counts("sni", "carried", 2)

	dialer := &tls.Dialer{Config: &tls.Config{ServerName: "api.other.p.shoots.transplant.test", InsecureSkipVerify: true}}
	if _, err := dialer.DialContext(t.Context(), "tcp", w.address+":9443"); err == nil {
		t.Error("a name that nobody serves is taken")
	}
	counts("sni", "refused", 1)
	if status, _ := w.connects(":8132", ""); status != http.StatusNotFound {
		t.Errorf("a CONNECT to nowhere: %d", status)
	}
	counts("tunnel", "refused", 1)
	const toAPIServer = "X-Gardener-Destination: outbound|6443||kube-apiserver.shoot--p--alpha.svc.cluster.local\r\n"
	if status, _ := w.connects(":8443", toAPIServer); status != http.StatusOK {
		t.Errorf("a CONNECT to the API server: %d", status)
	}
	counts("proxy", "carried", 1)

	for _, port := range []string{":9443", ":8443", ":8132"} { // probes
		conn, err := net.Dial("tcp", w.address+port)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	for _, port := range []string{"sni", "proxy", "tunnel"} {
		counts(port, "silent", 1)
	}
	if _, err := io.WriteString(w.plain(":8132"), "what is this\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	counts("tunnel", "malformed", 1)
	if _, err := io.WriteString(w.plain(":9443"), "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	counts("sni", "malformed", 1)

	w.moveAPIServer(address()) // where nobody listens
	if _, err := w.dial(host); err == nil {
		t.Error("a service without a server is reached")
	}
	counts("sni", "unreachable", 1)
	counts("sni", "carried", 2)
}

// moveAPIServer changes the Service's address, and waits until its route is another.
func (w *world) moveAPIServer(ip string) {
	w.Helper()
	services := w.client.CoreV1().Services("shoot--p--alpha")
	s, err := services.Get(w.Context(), "kube-apiserver", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	s.Spec.ClusterIP = ip
	if _, err := services.Update(w.Context(), s, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.eventually("the new route", func() bool {
		r := w.table.byHost(host)
		return r != nil && r.address == net.JoinHostPort(ip, "6443") && r.holder.Term().Valid()
	})
}

func TestBytesAndOpenConnectionsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	m := w.table.metrics
	conn := w.mustDial(host)
	text := string(make([]byte, 10_000))
	w.says(conn, text)
	// While the connection goes on, and TLS adds to the text.
	for to, counter := range map[string]prometheus.Counter{"client": m.toClient, "server": m.toServer} {
		w.eventually("bytes to the "+to, func() bool { n := testutil.ToFloat64(counter); return n > 10_000 && n < 20_000 })
	}
	if open := testutil.ToFloat64(m.open); open != 1 {
		t.Errorf("%v open connections, want 1", open)
	}
	conn.Close()
	w.eventually("the end", func() bool { return testutil.ToFloat64(m.open) == 0 })
	if cut := testutil.ToFloat64(m.cut); cut != 0 {
		t.Errorf("%v connections were cut, but the client has ended it", cut)
	}
}

func TestLapsesAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	if valid, lapsed := w.table.count(true), w.table.count(false); valid != 1 || lapsed != 0 {
		t.Errorf("%d valid routes and %d lapsed", valid, lapsed)
	}
	conn := w.mustDial(host)
	w.says(conn, "still valid")
	w.guard.set(validity.Suspended, 1, 0)
	w.heard()
	w.table.byHost(host).holder.Term().End()
	w.isCut(conn)
	w.eventually("the cut", func() bool { return testutil.ToFloat64(w.table.metrics.cut) == 1 })
	if valid, lapsed := w.table.count(true), w.table.count(false); valid != 0 || lapsed != 1 {
		t.Errorf("%d valid routes and %d lapsed after the lapse", valid, lapsed)
	}
	if _, err := w.dial(host); err == nil {
		t.Error("a lapsed gateway took a connection")
	}
	w.eventually("the refusal", func() bool {
		return testutil.ToFloat64(w.table.metrics.connections.WithLabelValues("sni", "lapsed")) == 1
	})
	w.guard.set(validity.Serving, 1, time.Hour)
	w.eventually("the route to be valid", func() bool { return w.table.count(true) == 1 })
}
