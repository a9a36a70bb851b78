//go:build docker

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// BenchmarkBackends compares the backends in one run: how long garden and two seeds take to be ready with all their
// actors, what memory all their programs use (PSS: shared pages count once; that of Docker itself is left out), and how
// long the loss of a seed takes, landscape included.
func BenchmarkBackends(b *testing.B) {
	for _, backend := range []string{"embedded", rundir.Kind} {
		b.Run(backend, func(b *testing.B) {
			home := b.TempDir()
			b.Setenv("TRANSPLANT_HOME", home)
			on := []string{"--backend", backend}
			if image := os.Getenv("TRANSPLANT_NODE_IMAGE"); backend == rundir.Kind && image != "" {
				on = append(on, "--node-image", image)
			}
			for b.Loop() {
				began := time.Now()
				transplant(b, append([]string{"up", "--landscape", "bench"}, on...)...)
				b.ReportMetric(time.Since(began).Seconds(), "s/ready")
				b.ReportMetric(whole(b, filepath.Join(home, "bench")), "MiB/landscape")
				transplant(b, "down", "--landscape", "bench")
				report := runScenario(b, "../scenarios/loss/seed-loss.yaml", append(on, "--timeout-multiplier", "3")...)
				b.ReportMetric(report.WallSeconds, "s/scenario")
				b.ReportMetric(*report.Measures.RTOSeconds, "s/rto")
			}
		})
	}
}

// whole is the memory in MiB of every process of a landscape, of those in pods too.
func whole(b *testing.B, dir string) float64 {
	b.Helper()
	state := state(b, dir)
	roots := map[int]bool{state.Supervisor.PID: true}
	for _, process := range state.Processes {
		roots[process.PID] = true
	}
	for _, cluster := range state.Clusters {
		for _, process := range cluster.Processes {
			roots[process.PID] = true
		}
	}
	parents := parents(b)
	kib := 0
	for pid := range parents {
		for at := pid; at > 1; at = parents[at] {
			if roots[at] {
				kib += pss(b, pid)
				break
			}
		}
	}
	return float64(kib) / 1024
}

// parents of all processes.
func parents(b *testing.B) map[int]int {
	b.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	of := map[int]int{}
	for _, stat := range stats {
		content, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid …", and a name may have spaces and brackets
		text := string(content)
		fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			b.Fatal(err)
		}
		of[pid] = parent
	}
	return of
}
