// Package e2e measures and tests the built program as a user runs it.
package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/sim/verdict"
)

const program = "../bin/transplant"

// transplant runs the built program and returns what it printed.
func transplant(b *testing.B, args ...string) string {
	b.Helper()
	command := exec.CommandContext(b.Context(), program, args...)
	command.Dir = "."
	said, err := command.CombinedOutput()
	if err != nil {
		b.Fatalf("transplant %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	return string(said)
}

// BenchmarkLandscape reports how long garden and two seeds take to be ready with all their actors, and what a cluster
// costs in memory (PSS: shared pages count once).
func BenchmarkLandscape(b *testing.B) {
	home := b.TempDir()
	b.Setenv("TRANSPLANT_HOME", home)
	for b.Loop() {
		began := time.Now()
		transplant(b, "up", "--landscape", "bench")
		ready := time.Since(began)
		perCluster := memory(b, filepath.Join(home, "bench"))
		transplant(b, "down", "--landscape", "bench")
		b.ReportMetric(ready.Seconds(), "s/ready")
		b.ReportMetric(perCluster, "MiB/cluster")
	}
}

// memory is the mean over the clusters of what their own programs use, pods left out.
func memory(b *testing.B, dir string) float64 {
	b.Helper()
	kib := 0
	state := state(b, dir)
	for _, cluster := range state.Clusters {
		for _, process := range cluster.Processes {
			kib += pss(b, process.PID)
		}
	}
	return float64(kib) / 1024 / float64(len(state.Clusters))
}

// state is what a landscape says of itself.
func state(b *testing.B, dir string) rundir.State {
	b.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "landscape.json"))
	if err != nil {
		b.Fatal(err)
	}
	state := rundir.State{}
	if err := json.Unmarshal(content, &state); err != nil {
		b.Fatal(err)
	}
	return state
}

func pss(b *testing.B, pid int) int {
	b.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "Pss:" {
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				b.Fatal(err)
			}
			return kib
		}
	}
	b.Fatalf("process %d has no PSS", pid)
	return 0
}

// BenchmarkPlannedMigration reports how long the scenario takes, and the phases of the API's downtime.
func BenchmarkPlannedMigration(b *testing.B) {
	b.Setenv("TRANSPLANT_HOME", b.TempDir())
	for b.Loop() {
		report := runScenario(b, "../scenarios/migration/planned-migration.yaml")
		b.ReportMetric(report.WallSeconds, "s/scenario")
		b.ReportMetric(*report.Measures.APIDowntimeSeconds, "s/downtime")
		phases := make([]string, 0, len(report.Measures.Phases))
		for phase := range report.Measures.Phases {
			phases = append(phases, phase)
		}
		slices.Sort(phases)
		for _, phase := range phases {
			b.ReportMetric(report.Measures.Phases[phase], "s/"+phase)
		}
	}
}

// runScenario runs a scenario, which must pass, and returns its verdict.
func runScenario(b *testing.B, file string, flags ...string) *verdict.Report {
	b.Helper()
	out := b.TempDir()
	transplant(b, append([]string{"run", file, "--out", out, "--landscape", "bench"}, flags...)...)
	content, err := os.ReadFile(filepath.Join(out, "verdict.json"))
	if err != nil {
		b.Fatal(err)
	}
	report := &verdict.Report{}
	if err := json.Unmarshal(content, report); err != nil {
		b.Fatal(err)
	}
	return report
}
