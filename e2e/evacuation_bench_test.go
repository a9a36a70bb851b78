package e2e

import "testing"

// BenchmarkEvacuation reports what it takes to bring twenty shoots back after the loss of their seed, each with its own
// API server, etcd and compared data. It runs with the patience for a busy machine, which this one is: what is late
// shows in the figures.
func BenchmarkEvacuation(b *testing.B) {
	b.Setenv("TRANSPLANT_HOME", b.TempDir())
	for b.Loop() {
		v := runScenario(b, "../scenarios/loss/evacuate-many.yaml", "--timeout-multiplier", "2")
		e := v.Measures.Evacuation
		if e == nil || e.Shoots != 20 || e.RequestsPerShoot == nil || e.CPUSecondsPerShoot == nil ||
			v.Measures.RPOSeconds == nil {
			b.Fatalf("measured were %+v, and of the evacuation %+v", v.Measures, e)
		}
		b.ReportMetric(e.Seconds, "s/all")
		b.ReportMetric(*e.RequestsPerShoot, "requests/shoot")
		b.ReportMetric(*e.CPUSecondsPerShoot, "cpu-s/shoot")
		b.ReportMetric(float64(*v.Measures.RestoresAtOnce), "restores-at-once")
		b.ReportMetric(*v.Measures.RPOSeconds, "rpo-s")
	}
}
