// Package dashboards is the source of the Grafana dashboards and of the alert rules: few lines for each panel, from
// which `make dashboards` writes the files in grafana/ and alerts.yml, so that they stay alike. It is no part of any
// program.
package dashboards

import (
	"fmt"
	"strings"
	"time"
)

// Board is one dashboard.
type Board struct {
	UID, Title, About string
	// Variables choose what is shown.
	Variables []Variable
	// Range is how far back it looks at first, such as 7d, and Refresh how often it looks again.
	Range, Refresh string
	// Live boards show what programs serve while they run, and nothing of past runs.
	Live bool
	// Empty is what panels say that have nothing to show.
	Empty  string
	Panels []Panel
}

// Annotation marks moments and spans of time on all panels that are drawn over time.
type Annotation struct {
	Name, Color string
	// Expr has a value when something is to be marked. Title and Text name its labels.
	Expr, Title, Text string
}

// Annotations of the board: the faults and steps of the runs that it shows.
func (b Board) Annotations() []Annotation {
	if b.Live || b.UID == HomeUID {
		return nil // what is live has other labels, and home draws nothing over time
	}
	const fault = `transplant_fault_active{FILTER}`
	const done = `sum by (run, verb) (last_over_time(transplant_steps_total{FILTER}[$__rate_interval]`
	return []Annotation{
		{Name: "Faults", Color: "red", Title: "{{fault}}", Text: "{{kind}}, in {{run}}", Expr: `max by (run, fault, kind) (` +
			`max_over_time(` + fault + `[$__interval]) or ` + latest(fault) + `) > 0`},
		{Name: "Ends of steps", Color: "blue", Title: "{{verb}}", Text: "in {{run}}",
			Expr: done + `)) > (` + done + ` offset $__interval)) or ` + done + `)) * 0)`},
	}
}

// Variable is a label whose values can be chosen.
type Variable struct {
	Label string
	// Of is the selector of series that have the label.
	Of string
}

// everything chosen leaves out what does not have the label: what the engine's own process serves is of no cluster.
const everything = ".+"

// Filter is what FILTER stands for: the labels that the board's variables choose.
func (b Board) Filter() string {
	var all []string
	for _, v := range b.Variables {
		all = append(all, fmt.Sprintf(`%s=~"$%s"`, v.Label, v.Label))
	}
	return strings.Join(all, ",")
}

// Expr is a query of the board with everything chosen, over a time and drawn in steps, as Grafana makes it.
func (b Board) Expr(q Query, span, step time.Duration) string {
	seconds := func(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }
	step = max(step, scraped)
	expr := strings.ReplaceAll(q.Expr, "FILTER", b.Filter())
	all := []string{"$__range", seconds(span), "$__rate_interval", seconds(max(step+scraped, 4*scraped)), "$__interval",
		seconds(step)}
	return b.Chosen(strings.NewReplacer(all...).Replace(expr))
}

// Chosen is a selector or a query with everything chosen.
func (b Board) Chosen(expr string) string {
	for _, v := range b.Variables {
		expr = strings.ReplaceAll(expr, "$"+v.Label, everything)
	}
	return expr
}

// scraped is how often programs are, the engine no less often. provisioning/ has the same number for Grafana.
const scraped = 5 * time.Second

// latest is the last value of a gauge in each step. By itself Prometheus looks back 5 minutes: it would miss runs
// between longer steps, and show those that have ended for so long.
func latest(gauge string) string { return "last_over_time(" + gauge + "[$__rate_interval])" }

// ofRuns are the variables of boards about runs.
var ofRuns = []Variable{{"scenario", "transplant_events_total"},
	{"run", `transplant_events_total{scenario=~"$scenario"}`}}

// Panel shows the answers to its queries.
type Panel struct {
	Title, About string
	// Kind is Grafana's: stat, timeseries, bargauge, table, state-timeline. Those of kind text show the Markdown of
	// About, and those of kind dashlist the other boards; both have no queries.
	Kind string
	// Unit is Grafana's: s, short, percentunit, reqps.
	Unit    string
	Queries []Query
	// Red is from which value on a number is bad; nil where nothing is. Green is from which on it is good, where less is
	// bad.
	Red, Green *float64
	// Wide panels take the whole width.
	Wide bool
	// Empty is what it says if there is nothing to show; the board's own text if it is "".
	Empty string
}

// Query in PromQL. FILTER stands for the labels that the board's variables choose.
type Query struct {
	Expr, Legend string
	// Goal queries are what others are compared with: they are drawn as red dashes.
	Goal bool
	// Instant queries look back over the whole time that is shown and give one value for each series; the others are
	// drawn over time.
	Instant bool
}

func red(from float64) *float64   { return &from }
func green(from float64) *float64 { return &from }

func now(legend, expr string) Query  { return Query{Expr: expr, Legend: legend, Instant: true} }
func over(legend, expr string) Query { return Query{Expr: expr, Legend: legend} }

// goal over time.
func goal(legend, expr string) Query { return Query{Expr: expr, Legend: legend + " goal", Goal: true} }

// HomeUID is that of the board with which Grafana begins.
const HomeUID = "transplant-home"

// Boards are all dashboards.
func Boards() []Board { return []Board{home(), migrations(), recovery(), landscape(), controllers()} }

// noRun is what boards about runs say while there is none.
const noRun = "Nothing to show: there is no run in this time range, or none that has this. " +
	"To load runs: transplant dashboards up FOLDER…"

func home() Board {
	const begin = "These boards show what **transplant** has recorded: runs of scenarios in which shoots move between " +
		"seeds, and landscapes that are running.\n\n" +
		"- *disaster recovery*: how long shoots were away after a fault, what was lost, against the goals\n" +
		"- *migration timings*: how long each part of a migration takes\n" +
		"- *landscape*: what happened in a run, second by second\n" +
		"- *controllers*: what the programs of a running landscape do\n\n" +
		"To load past runs: `transplant dashboards up FOLDER…`. The choices at the top hold on all boards, and the list " +
		"there leads from one to the next."
	judged := func(by, more string) string {
		return `sum by (` + by + `) (last_over_time(transplant_run_verdict{` + more + `FILTER}[$__range]))`
	}
	return Board{UID: HomeUID, Title: "transplant: home",
		About: "Where to begin: the runs that there are, and which board shows what of them.", Range: "30d", Refresh: "1m",
		Variables: ofRuns, Empty: noRun, Panels: []Panel{
			{Title: "Where to begin", About: begin, Kind: "text"},
			{Title: "Boards", About: "All boards of transplant.", Kind: "dashlist"},
			{Title: "Runs", About: "Runs by verdict.", Kind: "stat", Unit: "short", Queries: []Query{
				now("{{verdict}}", judged("verdict", ""))}},
			{Title: "Runs that have not passed", About: "By scenario and verdict: look at these first.", Kind: "table",
				Unit: "short", Red: red(1), Empty: "All runs have passed, or there is none.", Queries: []Query{
					now("{{scenario}} {{verdict}}", judged("scenario, verdict", `verdict!="Passed",`)+` > 0`)}},
			{Title: "Longest RTO of each scenario", About: "In seconds, of all runs in the time range.", Kind: "bargauge",
				Unit: "s", Empty: "No run in this time range had a fault to recover from.", Queries: []Query{
					now("{{scenario}}", `max by (scenario) (last_over_time(`+
						`transplant_run_measure_seconds{measure="rto",FILTER}[$__range]))`)}},
			{Title: "Longest API downtime of each scenario", About: "In seconds, of all runs in the time range.",
				Kind: "bargauge", Unit: "s", Queries: []Query{
					now("{{scenario}}", `max by (scenario) (last_over_time(`+
						`transplant_run_measure_seconds{measure="api_downtime",FILTER}[$__range]))`)}},
		}}
}

func migrations() Board {
	const phase = "transplant_migration_phase_duration_seconds"
	quantile := func(q string) string {
		return `histogram_quantile(` + q + `, sum by (le, phase, mode) (max_over_time(` + phase +
			`_bucket{FILTER}[$__range])))`
	}
	return Board{UID: "transplant-migrations", Title: "transplant: migration timings",
		About: "How long the parts of migrations take: planned against forced, and run by run.", Range: "7d", Refresh: "1m",
		Variables: ofRuns, Empty: noRun, Panels: []Panel{
			{Title: "Migrations", About: "Migrations that have ended, by mode.", Kind: "stat", Unit: "short", Queries: []Query{
				now("{{mode}}", `sum by (mode) (max_over_time(`+phase+`_count{phase="total",FILTER}[$__range]))`)}},
			{Title: "Mean of each phase", About: "Planned against forced.", Kind: "bargauge", Unit: "s", Queries: []Query{
				now("{{phase}}, {{mode}}", `sum by (phase, mode) (max_over_time(`+phase+
					`_sum{FILTER}[$__range])) / sum by (phase, mode) (max_over_time(`+phase+`_count{FILTER}[$__range]))`)}},
			{Title: "Percentiles of each phase",
				About: "Within the buckets of the histogram, 0.1 s to 30 min, which is where it ends.", Kind: "table", Unit: "s",
				Red: red(1800), Wide: true, Queries: []Query{
					now("p50 {{phase}}, {{mode}}", quantile("0.5")), now("p90 {{phase}}, {{mode}}", quantile("0.9")),
					now("p99 {{phase}}, {{mode}}", quantile("0.99"))}},
			{Title: "Phases by run", About: "Each run's mean of each phase.", Kind: "bargauge", Unit: "s", Wide: true,
				Queries: []Query{
					now("{{run}} {{phase}}", `sum by (run, phase) (max_over_time(`+phase+
						`_sum{phase!="total",FILTER}[$__range])) / sum by (run, phase) (max_over_time(`+phase+
						`_count{phase!="total",FILTER}[$__range]))`)}},
			{Title: "API downtime by run",
				About: "How long the API could not be reached by name, of the worst shoot; and the goal.", Kind: "bargauge",
				Unit: "s", Queries: []Query{
					now("{{run}}", `last_over_time(transplant_run_measure_seconds{measure="api_downtime",FILTER}[$__range])`),
					now("{{run}} goal", `last_over_time(transplant_run_goal{measure="api_downtime",FILTER}[$__range])`)}},
			{Title: "API downtime against its goal", About: "Above 1 it is over the goal.", Kind: "bargauge",
				Unit: "percentunit",
				Red:  red(1), Queries: []Query{
					now("{{run}}", `last_over_time(transplant_run_measure_seconds{measure="api_downtime",FILTER}[$__range]) / on `+
						`(run) last_over_time(transplant_run_goal{measure="api_downtime",FILTER}[$__range])`)}},
			{Title: "Kinds of migrations", About: "From where to where, with and without workers, awake and asleep.",
				Kind: "table", Unit: "short", Queries: []Query{
					now("{{source}} to {{destination}}, {{mode}}, workerless {{workerless}}, hibernated {{hibernated}}",
						`sum by (source, destination, mode, workerless, hibernated) (max_over_time(`+phase+
							`_count{phase="total",FILTER}[$__range]))`)}},
			{Title: "Progress of operations", About: "Of each shoot's last operation.", Kind: "timeseries", Unit: "percentunit",
				Queries: []Query{
					over("{{run}} {{shoot}} {{operation}}", latest(`transplant_shoot_operation_progress_ratio{FILTER}`)+` > 0`)}},
			{Title: "API reachable", About: "Whether each shoot's API answered the last attempt.", Kind: "state-timeline",
				Unit: "short", Green: green(1), Queries: []Query{
					over("{{run}} {{shoot}}", latest(`transplant_api_up{FILTER}`))}},
		}}
}

func recovery() Board {
	measure := func(name string) string {
		return `last_over_time(transplant_run_measure_seconds{measure="` + name + `",FILTER}[$__range])`
	}
	most := func(name string) string {
		return `last_over_time(transplant_run_goal{measure="` + name + `",FILTER}[$__range])`
	}
	worst := func(series, name string) string {
		return `max by (scenario) (` + latest(series+`{measure="`+name+`",FILTER}`) + `)`
	}
	const phase = "transplant_recovery_phase_duration_seconds"
	return Board{UID: "transplant-recovery", Title: "transplant: disaster recovery",
		About: "RTO and RPO against their goals, verdicts, and whether the faults hit.", Range: "7d", Refresh: "1m",
		Variables: ofRuns, Empty: noRun, Panels: []Panel{
			{Title: "Verdicts", About: "Runs by verdict.", Kind: "stat", Unit: "short", Queries: []Query{
				now("{{verdict}}", `sum by (verdict) (last_over_time(transplant_run_verdict{FILTER}[$__range]))`)}},
			{Title: "Verdicts by scenario", About: "Runs by scenario and verdict.",
				Kind: "table", Unit: "short", Queries: []Query{
					now("{{scenario}} {{verdict}}",
						`sum by (scenario, verdict) (last_over_time(transplant_run_verdict{FILTER}[$__range])) > 0`)}},
			{Title: "RTO against its goal",
				About: "From the fault to the first write that was acknowledged after the recovery from it, or, without a load, " +
					"until the API was reached; above 1 it is over the goal. A planned migration has no RTO.", Kind: "bargauge",
				Unit: "percentunit", Red: red(1), Queries: []Query{
					now("{{run}}", measure("rto")+` / on (run) `+most("rto"))}},
			{Title: "RPO beyond its goal",
				About: "Seconds of lost writes more than the scenario allows; a goal of 0 allows none.", Kind: "bargauge",
				Unit: "s", Red: red(0.001), Queries: []Query{
					now("{{run}}", `clamp_min(`+measure("rpo")+` - on (run) `+most("rpo")+`, 0)`)}},
			{Title: "RTO", About: "By run, in seconds, with the goal.", Kind: "bargauge", Unit: "s", Queries: []Query{
				now("{{run}}", measure("rto")), now("{{run}} goal", most("rto"))}},
			{Title: "RTO over time", About: "Each run's RTO when it ended, and the goal.", Kind: "timeseries", Unit: "s",
				Queries: []Query{
					over("{{scenario}}", worst("transplant_run_measure_seconds", "rto")),
					goal("{{scenario}}", worst("transplant_run_goal", "rto"))}},
			{Title: "RPO over time", About: "Each run's RPO when it ended, and the goal.", Kind: "timeseries", Unit: "s",
				Queries: []Query{
					over("{{scenario}}", worst("transplant_run_measure_seconds", "rpo")),
					goal("{{scenario}}", worst("transplant_run_goal", "rpo"))}},
			{Title: "RPO", About: "Age of the newest lost write; 0 when none is lost.", Kind: "bargauge", Unit: "s",
				Queries: []Query{
					now("{{run}}", measure("rpo")), now("{{run}} goal", most("rpo"))}},
			{Title: "Lost writes", About: "Acknowledged, and not in the data at the end.", Kind: "bargauge", Unit: "short",
				Red: red(1), Queries: []Query{
					now("{{run}}", `last_over_time(transplant_run_measure_number{measure="lost_writes",FILTER}[$__range])`)}},
			{Title: "Moments of the recovery", About: "Since the fault, of the slowest shoot.", Kind: "bargauge", Unit: "s",
				Wide: true, Queries: []Query{
					now("{{run}} {{moment}}", `last_over_time(transplant_run_recovery_seconds{FILTER}[$__range])`)}},
			{Title: "Phases of recoveries",
				About: "Median and 90th percentile of each phase, from the moment before it, by mode.", Kind: "table", Unit: "s",
				Red: red(1800), Wide: true, Queries: []Query{
					now("p50 {{phase}}, {{mode}}", `histogram_quantile(0.5, sum by (le, phase, mode) (max_over_time(`+phase+
						`_bucket{FILTER}[$__range])))`),
					now("p90 {{phase}}, {{mode}}", `histogram_quantile(0.9, sum by (le, phase, mode) (max_over_time(`+phase+
						`_bucket{FILTER}[$__range])))`)}},
			{Title: "Kinds of recoveries", About: "From where to where, with and without workers, awake and asleep.",
				Kind: "table", Unit: "short", Queries: []Query{
					now("{{source}} to {{destination}}, {{mode}}, workerless {{workerless}}, hibernated {{hibernated}}",
						`sum by (source, destination, mode, workerless, hibernated) (max_over_time(`+phase+
							`_count{phase="total",FILTER}[$__range]))`)}},
			{Title: "Violations", About: "Violations by promise.", Kind: "table", Unit: "short", Red: red(1),
				Queries: []Query{
					now("{{scenario}} {{promise}}",
						`sum by (scenario, promise) (last_over_time(transplant_run_violations{FILTER}[$__range]))`)}},
			{Title: "Hits of faults", About: "How often each fault hit; a run with a fault that never hit proves nothing.",
				Kind: "table", Unit: "short", Queries: []Query{
					now("{{scenario}} {{fault}} ({{kind}})",
						`sum by (scenario, fault, kind) (last_over_time(transplant_fault_hits{FILTER}[$__range]))`)}},
			{Title: "Faults at work", About: "When each fault was at work.", Kind: "state-timeline", Unit: "short", Wide: true,
				Queries: []Query{
					over("{{run}} {{fault}}", `max by (run, fault) (max_over_time(transplant_fault_active{FILTER}[$__interval]) or `+
						latest(`transplant_fault_active{FILTER}`)+`)`)}},
		}}
}

func landscape() Board {
	return Board{UID: "transplant-landscape", Title: "transplant: landscape",
		About: "Seeds, shoots, conditions, and what crosses the links.", Range: "1h", Refresh: "5s", Variables: ofRuns,
		Empty: noRun, Panels: []Panel{
			{Title: "Shoots by seed", About: "Whose status names it.", Kind: "timeseries", Unit: "short",
				Queries: []Query{over("{{run}} {{seed}}", `max by (run, seed) (`+latest(`transplant_seed_shoots{FILTER}`)+`)`)}},
			{Title: "Where each shoot is", About: "The seed in its status.", Kind: "state-timeline", Unit: "short",
				Queries: []Query{over("{{run}} {{shoot}} on {{seed}}", `max by (run, shoot, seed) (`+
					latest(`transplant_shoot_on_seed{FILTER}`)+`) == 1`)}},
			{Title: "Epochs that are served",
				About: "By each control plane; two lines of a run above 0 at the same time are two owners.", Kind: "timeseries",
				Unit: "short", Queries: []Query{over("{{run}} {{shoot}} on {{seed}}", `max by (run, shoot, seed) (`+
					latest(`transplant_shoot_epoch{FILTER}`)+`)`)}},
			{Title: "Conditions that are not True", About: "Of all shoots.", Kind: "timeseries", Unit: "short", Red: red(1),
				Queries: []Query{over("{{run}} {{type}} {{status}}", `sum by (run, type, status) (`+
					latest(`transplant_shoot_condition{status!="True",FILTER}`)+`)`)}},
			{Title: "Nodes", About: "Ready, and not.", Kind: "timeseries", Unit: "short",
				Queries: []Query{over("{{run}} {{shoot}} ready {{ready}}", `max by (run, shoot, ready) (`+
					latest(`transplant_shoot_nodes{FILTER}`)+`)`)}},
			{Title: "Writes", About: "Of the shoots' users, by what became of them.", Kind: "timeseries", Unit: "reqps",
				Queries: []Query{over("{{outcome}}",
					`sum by (outcome) (rate(transplant_writes_total{actor="user",FILTER}[$__rate_interval]))`)}},
			{Title: "Time of writes", About: "Median and 99th percentile of those that were acknowledged.", Kind: "timeseries",
				Unit: "s", Red: red(1), Queries: []Query{
					over("p50", `histogram_quantile(0.5, sum by (le) `+
						`(rate(transplant_write_duration_seconds_bucket{outcome="acknowledged",FILTER}[$__rate_interval])))`),
					over("p99", `histogram_quantile(0.99, sum by (le) `+
						`(rate(transplant_write_duration_seconds_bucket{outcome="acknowledged",FILTER}[$__rate_interval])))`)}},
			{Title: "Reads and attempts to reach the API", About: "By what became of them.", Kind: "timeseries", Unit: "reqps",
				Queries: []Query{
					over("reads {{outcome}}", `sum by (outcome) (rate(transplant_reads_total{FILTER}[$__rate_interval]))`),
					over("attempts {{outcome}}", `sum by (outcome) (rate(transplant_api_probes_total{FILTER}[$__rate_interval]))`)}},
			{Title: "Calls to the cloud", About: "In its ledger, by who made them.", Kind: "timeseries", Unit: "reqps",
				Queries: []Query{over("{{actor}} {{outcome}}",
					`sum by (actor, outcome) (rate(transplant_cloud_calls_total{FILTER}[$__rate_interval]))`)}},
			{Title: "Requests over links",
				About: "From actors to clusters, the cloud and shoots, since the landscape was started.", Kind: "timeseries",
				Unit: "short", Queries: []Query{over("{{from}} to {{to}}",
					`max by (from, to) (`+latest(`transplant_link_requests_total{FILTER}`)+`)`)}},
			{Title: "Bytes over links", About: "Toward servers and clients, since the landscape was started.",
				Kind: "timeseries",
				Unit: "bytes", Queries: []Query{over("{{from}} to {{to}}, toward the {{toward}}", `max by (from, to, toward) (`+
					latest(`transplant_link_bytes_total{FILTER}`)+`)`)}},
			{Title: "Errors on links",
				About: "Answers of 500 and above, requests without a whole answer, and what faults answered or broke.",
				Kind:  "timeseries", Unit: "short", Red: red(1),
				Queries: []Query{over("{{from}} to {{to}}", `max by (from, to) (`+latest(`transplant_link_errors_total{FILTER}`)+
					`)`)}},
			{Title: "Processor time", About: "Of all processes of the landscape that run.", Kind: "timeseries", Unit: "s",
				Queries: []Query{over("{{run}}", `max by (run) (`+latest(`transplant_landscape_cpu_seconds{FILTER}`)+`)`)}},
			{Title: "Events", About: "On the timeline, by kind.", Kind: "timeseries", Unit: "reqps",
				Queries: []Query{over("{{kind}}", `sum by (kind) (rate(transplant_events_total{FILTER}[$__rate_interval]))`)}},
			{Title: "Steps", About: "That have ended, by how.", Kind: "table", Unit: "short",
				Queries: []Query{now("{{scenario}} {{verb}} {{outcome}}",
					`sum by (scenario, verb, outcome) (max_over_time(transplant_steps_total{FILTER}[$__range]))`)}},
			{Title: "Length of runs", About: "From the start of the landscape to the verdict.", Kind: "bargauge", Unit: "s",
				Queries: []Query{now("{{run}}", `last_over_time(transplant_run_duration_seconds{FILTER}[$__range])`)}},
		}}
}
