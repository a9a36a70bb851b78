package metricsserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/transplant-sim/transplant/controllers/metricsserver"
)

// However many shoots there are, their API servers are one.
func TestShootsAreOneHost(t *testing.T) {
	before := clientmetrics.RequestResult
	t.Cleanup(func() { clientmetrics.RequestResult = before })
	garden, seed, shoots := apiServer(t), apiServer(t), []*rest.Config{apiServer(t), apiServer(t), apiServer(t)}
	if err := metricsserver.NameHosts(garden, seed); err != nil {
		t.Fatal(err)
	}
	counted := requests(t)
	for _, config := range append(shoots, garden, seed, seed) {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Discovery().ServerVersion(); err != nil {
			t.Fatal(err)
		}
	}
	got := requests(t)
	for host, n := range counted {
		if got[host] -= n; got[host] == 0 {
			delete(got, host)
		}
	}
	if diff := cmp.Diff(map[string]float64{"garden": 1, "seed": 2, "shoot": 3}, got); diff != "" {
		t.Errorf("requests by host (-want +got):\n%s", diff)
	}
}

func TestNameHosts_HostIsNoAddress_NamesIt(t *testing.T) {
	before := clientmetrics.RequestResult
	t.Cleanup(func() { clientmetrics.RequestResult = before })
	err := metricsserver.NameHosts(nil, &rest.Config{Host: "https://a b"})
	if err == nil || !strings.Contains(err.Error(), `parse the address of the seed "https://a b"`) {
		t.Errorf("got %v", err)
	}
	if clientmetrics.RequestResult != before {
		t.Error("requests are counted in another way after an error")
	}
}

// apiServer answers with its version.
func apiServer(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"major": "1"}`)) // a failed write fails the request too
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// requests that controller-runtime has counted, by host.
func requests(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "rest_client_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "host" {
					all[label.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return all
}
