package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/transplant-sim/transplant/dashboards/prometheustest"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// BenchmarkWatching compares what a planned migration takes with every probe and with a Prometheus that does what
// the documentation asks of it, to what it takes without: the time of the whole command, that from the ready landscape
// until all has settled, and the processor's work. On a machine whose speed changes, times are as good as each other
// only within ten percent, so that it takes many rounds, and each figure comes with its standard error; work is counted
// in that of the same run's landscape to get ready, which changes with it.
func BenchmarkWatching(b *testing.B) {
	prometheustest.Program(b, "prometheus") // or leave it, before a run is under way
	b.Setenv("TRANSPLANT_HOME", b.TempDir())
	var watched, unwatched costs
	for b.Loop() {
		// Whatever slows the machine down as time goes by meets both.
		for _, watch := range [][]bool{{false, true}, {true, false}}[len(watched)%2] {
			if watch {
				watched = append(watched, runWatched(b))
			} else {
				unwatched = append(unwatched, runOnce(b, false))
			}
		}
		b.Logf("round %d: watched %v, unwatched %v", len(watched), watched[len(watched)-1], unwatched[len(unwatched)-1])
	}
	report := func(unit string, of func(cost) float64) {
		more := make([]float64, len(watched))
		for i := range watched {
			more[i] = 100 * (of(watched[i])/of(unwatched[i]) - 1)
		}
		mean, deviation := stat.MeanStdDev(more, nil)
		b.ReportMetric(watched.median(of), unit+"/watched")
		b.ReportMetric(unwatched.median(of), unit+"/unwatched")
		b.ReportMetric(100*(watched.median(of)/unwatched.median(of)-1), "%more-"+unit+"-by-medians")
		b.ReportMetric(mean, "%more-"+unit+"-by-rounds")
		b.ReportMetric(stat.StdErr(deviation, float64(len(more))), "%error-"+unit+"-by-rounds")
	}
	report("run-s", func(c cost) float64 { return c.run })
	report("scenario-s", func(c cost) float64 { return c.scenario })
	report("work", func(c cost) float64 { return c.work })
}

// cost of one run.
type cost struct {
	run      float64 // seconds of the whole command
	scenario float64 // seconds from the ready landscape until all has settled
	work     float64 // processor time of the whole run, Prometheus left out, in that of its landscape to get ready
}

func (c cost) String() string {
	return fmt.Sprintf("%.1f s of %.1f s, work %.3f", c.scenario, c.run, c.work)
}

type costs []cost

func (c costs) median(of func(cost) float64) float64 {
	var sorted []float64
	for _, one := range c {
		sorted = append(sorted, of(one))
	}
	slices.Sort(sorted)
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// runWatched has a Prometheus scrape the landscape of the run from the moment it is there.
func runWatched(b *testing.B) (watched cost) {
	b.Helper()
	folder := b.TempDir()
	state := filepath.Join(os.Getenv("TRANSPLANT_HOME"), "bench", "landscape.json")
	ended := make(chan cost, 1)
	go func() { ended <- runOnce(b, true) }()
	for {
		select {
		case watched = <-ended:
			b.Error("the run has ended before its landscape could be scraped")
			return watched
		case <-time.After(100 * time.Millisecond):
		}
		if _, err := os.Stat(state); err == nil {
			break
		}
	}
	config := filepath.Join(folder, "prometheus.yml")
	programs, stop := targets(b, os.Environ(), "bench")
	defer stop()
	asUsersDo(b, config, programs)
	server := prometheustest.Start(b, config, filepath.Join(folder, "data"))
	defer server.Stop()
	watched = <-ended
	if seen, err := server.Query(`count(count_over_time(up{actor!=""}[10m]))`, time.Now()); err != nil || len(seen) == 0 {
		b.Errorf("nothing was scraped: %v, %v", seen, err)
	}
	return watched
}

// asUsersDo writes the configuration that comes with the dashboards; only the targets are served elsewhere.
func asUsersDo(b *testing.B, config, programs string) {
	b.Helper()
	const documented = "http://127.0.0.1:9741/targets"
	for _, name := range []string{"prometheus.yml", "alerts.yml"} {
		content, err := os.ReadFile(filepath.Join("..", "dashboards", name))
		if err != nil {
			b.Fatal(err)
		}
		if name == filepath.Base(config) && !bytes.Contains(content, []byte(documented)) {
			b.Fatalf("%s does not ask %s", name, documented)
		}
		content = bytes.ReplaceAll(content, []byte(documented), []byte(programs))
		if err := os.WriteFile(filepath.Join(filepath.Dir(config), name), content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// runOnce runs the scenario. A watched run serves its metrics to Prometheus where users let it.
func runOnce(b *testing.B, watched bool) cost {
	b.Helper()
	flag := "--unwatched"
	if watched {
		flag = "--metrics-address=127.0.0.1:9740"
	}
	out := filepath.Join(b.TempDir(), "run")
	run := exec.CommandContext(b.Context(), program, "run", "../scenarios/migration/planned-migration.yaml", "--out", out,
		"--landscape", "bench", flag)
	begin := time.Now()
	said, err := run.CombinedOutput()
	whole := time.Since(begin)
	// An unwatched run proves nothing, and its verdict says so.
	if exit := (*exec.ExitError)(nil); err != nil && (watched || !errors.As(err, &exit) || exit.ExitCode() != 3) {
		b.Errorf("run: %v\n%s", err, said)
		return cost{}
	}
	record, err := timeline.ReadFile(filepath.Join(out, timeline.FileName))
	if err != nil {
		b.Error(err)
		return cost{}
	}
	ready, _, there := timeline.First[timeline.LandscapeReady](record.Events)
	rest, _, settled := timeline.First[timeline.Settled](record.Events)
	_, before, counted := timeline.First[timeline.CostSeen](record.Events)
	if !there || !settled || !counted {
		b.Error("the timeline does not say when the scenario began and ended, and what its landscape had cost before")
		return cost{}
	}
	// Those of the landscape are its children, and it waits for them.
	all := run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	return cost{run: whole.Seconds(), scenario: (rest.At - ready.At).Seconds(),
		work: all.Seconds() / time.Duration(before.CPU).Seconds()}
}
