package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/dashboards/prometheustest"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// BenchmarkWatching compares the time that a planned migration takes, from the ready landscape until all is at rest, with every
// probe and with a Prometheus that scrapes every program each second, to the time it takes without. One story is as good as
// another only within some percent: give it several rounds.
func BenchmarkWatching(b *testing.B) {
	b.Setenv("TRANSPLANT_HOME", b.TempDir())
	var watched, unwatched []float64
	for b.Loop() {
		// Whatever slows the machine down as time goes by meets both.
		for _, watch := range [][]bool{{false, true}, {true, false}}[len(watched)%2] {
			if watch {
				watched = append(watched, watchedTale(b))
			} else {
				unwatched = append(unwatched, tale(b, "--unwatched"))
			}
		}
		b.Logf("round %d: %.1f s watched, %.1f s unwatched", len(watched), watched[len(watched)-1], unwatched[len(unwatched)-1])
	}
	b.ReportMetric(median(watched), "s/watched")
	b.ReportMetric(median(unwatched), "s/unwatched")
	b.ReportMetric(100*(median(watched)/median(unwatched)-1), "%/cost")
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// watchedTale has a Prometheus scrape the landscape of the story from the moment it is there.
func watchedTale(b *testing.B) (seconds float64) {
	b.Helper()
	folder := b.TempDir()
	state := filepath.Join(os.Getenv("TRANSPLANT_HOME"), "bench", "landscape.json")
	told := make(chan float64, 1)
	go func() { told <- tale(b) }()
	for {
		select {
		case seconds = <-told:
			b.Error("the story has ended before its landscape could be scraped")
			return seconds
		case <-time.After(100 * time.Millisecond):
		}
		if _, err := os.Stat(state); err == nil {
			break
		}
	}
	config := filepath.Join(folder, "prometheus.yml")
	scrape(b, config, targets(b, "bench"))
	server := prometheustest.Start(b, config, filepath.Join(folder, "data"))
	seconds = <-told
	if seen, err := server.Query(`count(count_over_time(up{actor!=""}[10m]))`, time.Now()); err != nil || len(seen) == 0 {
		b.Errorf("nothing was scraped: %v, %v", seen, err)
	}
	return seconds
}

// tale tells the story and returns the seconds from the ready landscape until all was at rest.
func tale(b *testing.B, flags ...string) float64 {
	b.Helper()
	out := filepath.Join(b.TempDir(), "run")
	said, err := exec.CommandContext(b.Context(), program, append([]string{"run", "../scenarios/planned-migration.yaml", "--out", out, "--landscape", "bench"}, flags...)...).CombinedOutput()
	// Who does not watch proves nothing, and is told so.
	if exit := (*exec.ExitError)(nil); err != nil && (len(flags) == 0 || !errors.As(err, &exit) || exit.ExitCode() != 3) {
		b.Errorf("run: %v\n%s", err, said)
		return 0
	}
	record, err := timeline.ReadFile(filepath.Join(out, timeline.FileName))
	if err != nil {
		b.Error(err)
		return 0
	}
	ready, _, there := timeline.First[timeline.LandscapeReady](record.Events)
	rest, _, settled := timeline.First[timeline.Settled](record.Events)
	if !there || !settled {
		b.Error("the timeline does not say when the story began and ended")
		return 0
	}
	return (rest.At - ready.At).Seconds()
}
