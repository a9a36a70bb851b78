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

	"github.com/transplant-sim/transplant/dashboards"
	"github.com/transplant-sim/transplant/dashboards/prometheustest"
)

// patience with a program that has just come: it is found and scraped twice first.
const patience = time.Minute

// watch has a real Prometheus scrape the landscape, as its users are told to. The test that it returns executes every query of
// the boards about programs that run: each parses, finds something, and has what its legend names.
func (l *landscape) watch(t *testing.T) func(t *testing.T) {
	t.Helper()
	begin, folder := time.Now(), t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	programs, _ := targets(t, "e2e")
	scrape(t, config, programs)
	if _, is := prometheustest.Installed(t, "prometheus"); !is {
		return func(t *testing.T) {
			t.Skip("there is no Prometheus: install Debian's package to have it look at the landscape")
		}
	}
	server := prometheustest.Start(t, config, filepath.Join(folder, "data"))
	return func(t *testing.T) {
		asked, tables := 0, strings.Builder{}
		for _, b := range dashboards.Boards() {
			if !b.Live {
				continue
			}
			fmt.Fprintf(&tables, "# %s\n", b.Title)
			for _, panel := range b.Panels {
				fmt.Fprintf(&tables, "\n## %s\n\n%s\n\n", panel.Title, panel.About)
				for _, q := range panel.Queries {
					asked++
					tables.WriteString(prometheustest.Table(q.Legend, answered(t, server, begin, b, panel, q)))
				}
			}
		}
		if asked == 0 {
			t.Error("there is no board about programs that run")
		}
		if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "dashboards.md"), []byte(tables.String()), 0o644); err != nil {
			t.Error(err)
		}
		scraped(t, server, "garden-controller-manager on garden", "gardenlet on a", "gardenlet on b", "provider-transplant on a", "provider-transplant on b",
			"gateway on a", "gateway on b", "cloud on landscape", "nodes on landscape", "guard on b", "backup on b", "machine-controller on b", "gardener-resource-manager on b")
	}
}

// scraped waits until Prometheus has seen each of the programs: those of a control plane that has just woken are new to it.
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
			there[s["actor"]+" on "+s["cluster"]] = true
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
	content := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: controllers, http_sd_configs: [{url: %q, refresh_interval: 1s}]}]\n", targets)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// targets are told at an address until that is stopped, or the test ends.
func targets(t testing.TB, landscape string) (url string, stop func()) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, "scrape-targets", "--landscape", landscape, "--address", "127.0.0.1:0")
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

// answered asks until there is an answer, and gives it.
func answered(t *testing.T, server *prometheustest.Server, begin time.Time, b dashboards.Board, panel dashboards.Panel, q dashboards.Query) []prometheustest.Series {
	t.Helper()
	var found []prometheustest.Series
	var err error
	expr := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Second) {
		now := time.Now()
		expr = b.Expr(q, fmt.Sprintf("%ds", int(now.Sub(begin).Seconds())+1), "60s")
		if q.Instant {
			found, err = server.Query(expr, now)
		} else {
			found, err = server.QueryRange(expr, begin, now)
		}
		if err != nil || len(found) > 0 {
			break
		}
	}
	if err != nil || len(found) == 0 {
		t.Errorf("%s, %s: %d series, %v\n%s", b.Title, panel.Title, len(found), err, expr)
	}
	if s, lacks := prometheustest.Unnamed(q.Legend, found); lacks {
		t.Errorf("%s, %s: the legend %q names what is not in %v", b.Title, panel.Title, q.Legend, s)
	}
	return found
}
