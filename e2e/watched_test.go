package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/dashboards"
	"github.com/transplant-sim/transplant/dashboards/prometheustest"
)

// patience with a program that has just come: it is found and scraped twice first.
const patience = time.Minute

// watching is a Prometheus that looks at a landscape.
type watching struct {
	server *prometheustest.Server // nil where none is installed
	begin  time.Time
}

// watch has a real Prometheus scrape the landscape, as the documentation asks users to.
func (l *landscape) watch(t *testing.T) *watching {
	t.Helper()
	begin, folder := time.Now(), t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	programs, _ := targets(t, l.environment, "e2e")
	scrape(t, config, programs)
	if _, is := prometheustest.Installed(t, "prometheus"); !is {
		return &watching{}
	}
	return &watching{server: prometheustest.Start(t, config, filepath.Join(folder, "data")), begin: begin}
}

// installed skips the test where nobody looks.
func (w *watching) installed(t *testing.T) {
	t.Helper()
	if w.server == nil {
		t.Skip("there is no Prometheus: install Debian's package to have it look at the landscape")
	}
}

// programs are scraped, of each kind and those of the shoot.
func (w *watching) programs(t *testing.T) {
	w.installed(t)
	scraped(t, w.server, "garden-controller-manager on garden", "gardenlet on a", "gardenlet on b",
		"provider-transplant on a", "provider-transplant on b",
		"gateway on a", "gateway on b", "cloud on landscape", "nodes on landscape", "guard on b", "backup on b",
		"machine-controller on b", "gardener-resource-manager on b")
}

// boards executes every query of the boards about programs that run: each parses, finds a number, and has what its
// legend names. They look back to when the watching began.
func (w *watching) boards(t *testing.T) {
	w.installed(t)
	asked := 0
	for _, b := range dashboards.Boards() {
		if !b.Live {
			continue
		}
		page := prometheustest.NewPage(b.UID, b.Title, b.About, "It was a landscape of the tests of this repository.")
		for _, panel := range b.Panels {
			page.Panel(panel.Title, panel.About)
			for _, q := range panel.Queries {
				asked++
				page.Answer(q.Legend, answered(t, w.server, w.begin, b, panel, q))
			}
		}
		if err := os.WriteFile(filepath.Join(t.ArtifactDir(), page.Name()), []byte(page.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
	if asked == 0 {
		t.Error("there is no board about programs that run")
	}
	// A host of each shoot's own would make the series grow with the shoots that there have been.
	hosts, err := w.server.LabelValues("host", "rest_client_requests_total", w.begin, time.Now())
	if diff := cmp.Diff([]string{"garden", "seed", "shoot"}, hosts); diff != "" || err != nil {
		t.Errorf("hosts of requests to API servers: %v (-want +got):\n%s", err, diff)
	}
}

// scraped waits until Prometheus has seen each of the programs: those of a control plane that has just woken are new to
// it.
func scraped(t *testing.T, server *prometheustest.Server, all ...string) {
	t.Helper()
	var missing []string
	there := map[string]bool{}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Second) {
		actors, err := server.Query(`up{actor!=""} == 1`, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		clear(there)
		for _, s := range actors {
			there[s.Labels["actor"]+" on "+s.Labels["cluster"]] = true
		}
		missing = slices.DeleteFunc(slices.Clone(all), func(program string) bool { return there[program] })
		if len(missing) == 0 {
			return
		}
	}
	t.Errorf("%s are not scraped: there are %v", strings.Join(missing, ", "), there)
}

// scrape has Prometheus look every second at what there is.
func scrape(t testing.TB, config, targets string) {
	t.Helper()
	content := fmt.Sprintf(
		"global: {scrape_interval: 1s}\nscrape_configs: [{job_name: controllers, http_sd_configs: [{url: %q, "+
			"refresh_interval: 1s}]}]\n", targets)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// targets are served at an address until that is stopped, or the test ends.
func targets(t testing.TB, environment []string, landscape string) (url string, stop func()) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, "scrape-targets", "--landscape", landscape, "--address",
		"127.0.0.1:0")
	command.Env = environment
	said, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = command.Process.Kill() // it may have ended, which the queries show
		_ = command.Wait()
	})
	t.Cleanup(stop)
	line, err := bufio.NewReader(said).ReadString('\n')
	at := strings.Index(line, "http://")
	if err != nil || at < 0 {
		t.Fatalf("scrape-targets says %q, %v", line, err)
	}
	url, _, _ = strings.Cut(line[at:], " ")
	return url, stop
}

// answered asks until there is a number in the answer, and gives it.
func answered(t *testing.T, server *prometheustest.Server, begin time.Time, b dashboards.Board, panel dashboards.Panel,
	q dashboards.Query) []prometheustest.Series {
	t.Helper()
	var found []prometheustest.Series
	var err error
	expr := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Second) {
		now := time.Now()
		expr = b.Expr(q, now.Sub(begin)+time.Second, time.Second)
		if q.Instant {
			found, err = server.Query(expr, now)
		} else {
			found, err = server.QueryRange(expr, begin, now, time.Second)
		}
		if err != nil || prometheustest.Answered(found) {
			break
		}
	}
	if err != nil || !prometheustest.Answered(found) {
		t.Errorf("%s, %s: no number in %d series, %v\n%s", b.Title, panel.Title, len(found), err, expr)
	}
	if s, lacks := prometheustest.Unnamed(q.Legend, found); lacks {
		t.Errorf("%s, %s: the legend %q names what is not in %v", b.Title, panel.Title, q.Legend, s)
	}
	return found
}
