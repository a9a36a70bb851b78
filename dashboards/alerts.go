package dashboards

// Alert is a rule: it fires for every series of Value that is above the series of Above with the same run and scenario,
// or above 0 where there is none, for as long as remembered after the last sample: an engine ends soon after its
// verdict.
//
// Severity is critical where a promise is broken or writes are lost. It is warning where a run was slower than its
// goal, or says nothing about its promises. docs/alerts has a page for each.
type Alert struct {
	Name, Severity, Summary, Description string
	Value, Above                         string
}

// Expr of the rule.
func (a Alert) Expr() string {
	return a.Over(remembered)
}

// remembered is for how long a run's samples are looked back at.
const remembered = "1h"

// Over is the rule over another time.
func (a Alert) Over(span string) string {
	last := func(selector string) string { return "last_over_time(" + selector + "[" + span + "])" }
	if a.Above == "" {
		return last(a.Value) + " > 0"
	}
	return last(a.Value) + " > on (run, scenario) " + last(a.Above)
}

// Alerts are all rules, for those who run scenarios in CI.
func Alerts() []Alert {
	goal := func(name string) string { return `transplant_run_goal{measure="` + name + `"}` }
	return []Alert{
		{"TransplantRunWithoutVerdict", warning, "The verdict about {{ $labels.scenario }} is {{ $labels.verdict }}",
			"Nobody knows whether the run {{ $labels.run }} has kept its promises.",
			`transplant_run_verdict{verdict=~"Error|Inconclusive"}`, ""},
		{"TransplantPromiseBroken", critical, "{{ $labels.scenario }} breaks {{ $labels.promise }}",
			"The run {{ $labels.run }} has {{ $value }} violations of it.", `transplant_run_violations{promise!="measure"}`, ""},
		{"TransplantGoalMissed", warning, "{{ $labels.scenario }} misses a goal",
			"{{ $value }} measures of the run {{ $labels.run }} are over their goals.",
			`transplant_run_violations{promise="measure"}`, ""},
		{"TransplantRTOOverGoal", warning, "The RTO of {{ $labels.scenario }} is over its goal",
			"It was {{ $value }} s in the run {{ $labels.run }}.", `transplant_run_measure_seconds{measure="rto"}`, goal("rto")},
		{"TransplantRPOOverGoal", critical, "The RPO of {{ $labels.scenario }} is over its goal",
			"It was {{ $value }} s in the run {{ $labels.run }}.", `transplant_run_measure_seconds{measure="rpo"}`, goal("rpo")},
		{"TransplantAPIDowntimeOverGoal", warning, "The API of {{ $labels.scenario }} was down for longer than its goal",
			"It was {{ $value }} s in the run {{ $labels.run }}.", `transplant_run_measure_seconds{measure="api_downtime"}`,
			goal("api_downtime")},
		{"TransplantWritesLost", critical, "{{ $labels.scenario }} has lost writes",
			"{{ $value }} acknowledged writes are not in the data of the run {{ $labels.run }}.",
			`transplant_run_measure_number{measure="lost_writes"}`, goal("lost_writes")},
	}
}

// Severities, as Alertmanager's routes know them.
const critical, warning = "critical", "warning"
