package metrics

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// resultMetrics is what became of the run. A measure that does not apply has no sample.
type resultMetrics struct {
	verdict, violations, wall, seconds, counts, goal, recovery *prometheus.GaugeVec
}

// Names of measures, as labels.
const (
	rto, rpo, apiDowntime, apiLongestGap = "rto", "rpo", "api_downtime", "api_longest_gap"
	bystanderDowntime                    = "bystander_downtime"
	lostWrites, restoresAtOnce           = "lost_writes", "restores_at_once"
)

func newResultMetrics() resultMetrics {
	return resultMetrics{
		verdict:    gauge("transplant_run_verdict", "1 for the verdict about the run, 0 for the others.", "verdict"),
		violations: gauge("transplant_run_violations", "Violations, by promise.", "promise"),
		wall:       gauge("transplant_run_duration_seconds", "How long the run took."),
		seconds: gauge("transplant_run_measure_seconds",
			"Measures of the run that are times: rto, rpo, api_downtime, api_longest_gap, bystander_downtime.", "measure"),
		counts: gauge("transplant_run_measure_number",
			"Measures of the run that are numbers: lost_writes, restores_at_once.", "measure"),
		goal: gauge("transplant_run_goal", "The most that a measure may be by the scenario: seconds, or a number.",
			"measure"),
		recovery: gauge("transplant_run_recovery_seconds",
			"Moments of the slowest recovery, since the fault: detected, ownerMoved, etcdRestored, firstWrite, extensions, "+
				"steady.", "moment"),
	}
}

func (r resultMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{r.verdict, r.violations, r.wall, r.seconds, r.counts, r.goal, r.recovery}
}

// goals of the scenario are known from the beginning.
func (r resultMetrics) goals(start timeline.RunStarted) error {
	s := &scenario.Scenario{}
	if err := json.Unmarshal(start.Definition, s); err != nil {
		return fmt.Errorf("read the scenario in the timeline: %w", err)
	}
	goals := s.Spec.Measure
	for name, bound := range map[string]*scenario.Bound{rto: goals.RTO, rpo: goals.RPO, apiDowntime: goals.APIDowntime,
		bystanderDowntime: goals.BystanderDowntime} {
		if bound != nil {
			r.goal.WithLabelValues(name).Set(bound.Max.Seconds())
		}
	}
	for name, bound := range map[string]*scenario.Count{lostWrites: goals.LostWrites,
		restoresAtOnce: goals.RestoresAtOnce} {
		if bound != nil {
			r.goal.WithLabelValues(name).Set(float64(bound.Max))
		}
	}
	return nil
}

func (r resultMetrics) take(report *verdict.Report) {
	for _, v := range []verdict.Verdict{verdict.Passed, verdict.Failed, verdict.Error, verdict.Inconclusive} {
		r.verdict.WithLabelValues(string(v)).Set(one(report.Verdict == v))
	}
	for _, promise := range append([]string{verdict.Expect, verdict.Goal, verdict.Settle}, report.Promises...) {
		r.violations.WithLabelValues(promise).Set(0)
	}
	for _, v := range report.Violations {
		r.violations.WithLabelValues(v.Oracle).Inc()
	}
	r.wall.WithLabelValues().Set(report.WallSeconds)
	r.measures(report.Measures)
}

func (r resultMetrics) measures(m measure.Measures) {
	for name, value := range map[string]*float64{rto: m.RTOSeconds, rpo: m.RPOSeconds, apiDowntime: m.APIDowntimeSeconds,
		apiLongestGap: m.APILongestGapSeconds, bystanderDowntime: m.BystanderDowntimeSeconds} {
		if value != nil {
			r.seconds.WithLabelValues(name).Set(*value)
		}
	}
	for name, value := range map[string]*int{lostWrites: m.LostWrites, restoresAtOnce: m.RestoresAtOnce} {
		if value != nil {
			r.counts.WithLabelValues(name).Set(float64(*value))
		}
	}
	slowest := map[string]float64{}
	for name, value := range m.Phases {
		if _, moment, is := strings.Cut("."+name, ".recovery."); is {
			slowest[moment] = max(slowest[moment], value)
		}
	}
	for moment, value := range slowest {
		r.recovery.WithLabelValues(moment).Set(value)
	}
}
