package cloud

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/metricstest"
	"github.com/transplant-sim/transplant/sim/cloud/faultbook"
)

// The command serves what it was asked and what there is, beside its process, at an address of its own.
func TestTheCommandServesMetrics(t *testing.T) {
	t.Parallel()
	at := freeAddress(t, "127.230.3.1")
	p := newProcess(t, "--metrics-bind-address="+at)
	p.start(t)
	client := p.as(t, "t-a")
	must(client.Buckets().Create(t.Context(), &api.Bucket{Name: "backups"}))(t)
	if _, err := client.Buckets().Get(t.Context(), "nothing"); err == nil {
		t.Error("there is what was never made")
	}
	question := new(dns.Msg).SetQuestion("example.org.", dns.TypeA)
	if _, _, err := new(dns.Client).ExchangeContext(t.Context(), question, p.names); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`cloud_calls_total{resource="buckets",result="OK",verb="create"} 1`,
		`cloud_calls_total{resource="buckets",result="NotFound",verb="get"} 1`,
		`cloud_dns_questions_total{answer="REFUSED"} 1`, `cloud_objects{resource="buckets"} 1`, "process_cpu_seconds_total",
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is not served:\n%.3000s", want, body)
		}
	}
}

func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	m.called(&call{verb: api.VerbGet, kind: api.KindBuckets}, faultbook.ErrDropped)
	m.asked(new(dns.Msg))
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.calls, m.names, inventory{m, &database{state: newState()}})
	metricstest.Check(t, registry)
}
