package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Who runs on no cluster has no pod to be found by.
func TestWhatRunsBesideTheClustersIsScraped(t *testing.T) {
	t.Parallel()
	dir, err := rundir.Of(t.TempDir(), "default")
	if err != nil {
		t.Fatal(err)
	}
	lock, _, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Unlock() })
	if err := dir.WriteState(rundir.State{Name: "default", Processes: []rundir.ProcessState{{Name: "nodes", Metrics: "127.16.0.4:9100"}, {Name: "useless"}}}); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	(&scrapeTargets{dir: dir}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/targets", nil))
	const want = `[{"targets":["127.16.0.4:9100"],"labels":{"actor":"nodes","cluster":"landscape"}}]`
	if got := strings.TrimSpace(answer.Body.String()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
